"""Every treatment against its formula, written out."""

import numpy as np
import pytest

from gramian.errors import ParameterError
from gramian.faces.face_images import LIGHTS, grey_scale, relight


def pictures(n=3, height=11, width=9, dtype=np.uint8):
    limit = np.iinfo(dtype).max
    return np.random.default_rng(0).integers(0, limit, (n, height, width), dtype=dtype)


def by_definition(picture, how):
    v = picture.astype(float) / (257 if picture.dtype == np.uint16 else 1)
    if how == "none":
        return v
    flat = v.ravel()
    share = [(np.sum(flat < x) + 0.5 * np.sum(flat == x)) / flat.size for x in flat]
    return 255 * np.reshape(share, v.shape)


def test_pictures_against_the_formula_and_what_cannot_be_treated():
    for how in LIGHTS:
        for dtype in [np.uint8, np.uint16, np.int32]:
            given = pictures(dtype=dtype)
            result = relight(given, how)
            assert result.dtype == np.float32
            expected = np.stack([by_definition(picture, how) for picture in given])
            np.testing.assert_allclose(result, expected, rtol=1e-5, atol=2e-5)
    many = pictures(150, 8, 8)
    for how in LIGHTS:
        np.testing.assert_array_equal(relight(many, how)[[0, 149]], relight(many[[0, 149]], how))
    floats = pictures().astype(np.float32) + 20
    np.testing.assert_allclose(relight(floats**1.5, "equalise"), relight(floats, "equalise"))
    floats = pictures().astype(np.float32)
    assert relight(floats, "none") is floats
    with pytest.raises(ParameterError, match=r"is not known\. Allowed:"):
        relight(pictures(), "equalize")
    assert grey_scale(np.array([65535, 0], dtype=np.uint16)).tolist() == [255.0, 0.0]
    eight = np.array([255, 0], dtype=np.uint8)
    assert grey_scale(eight) is eight
