"""Every treatment against its formula, written out."""

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter

from drawn import drawn_faces
from gramian.errors import DataError, ParameterError
from gramian.faces import FaceSpace
from gramian.faces.face_images import LIGHTS, choose_light, grey_scale, relight, unlight


def pictures(n=3, height=11, width=9, dtype=np.uint8):
    limit = np.iinfo(dtype).max
    return np.random.default_rng(0).integers(0, limit, (n, height, width), dtype=dtype)


def by_definition(picture, how):
    v = picture.astype(float) / (257 if picture.dtype == np.uint16 else 1)
    if how == "none":
        return v
    if how == "log":
        return np.log1p(v)
    if how == "equalise":
        flat = v.ravel()
        share = [(np.sum(flat < x) + 0.5 * np.sum(flat == x)) / flat.size for x in flat]
        return 255 * np.reshape(share, v.shape)
    logs = np.log1p(v)
    edges = gaussian_filter(logs, 1, mode="mirror") - gaussian_filter(logs, 2, mode="mirror")
    return edges / np.sqrt(np.mean(edges**2))


def test_pictures_against_the_formula_and_what_cannot_be_treated():
    for how in LIGHTS:
        for dtype in [np.uint8, np.uint16, np.int32]:
            given = pictures(dtype=dtype)
            result = relight(given, how)
            assert result.dtype == np.float32
            expected = np.stack([by_definition(picture, how) for picture in given])
            # Logarithms in float32 are rounded, and their differences relatively more so.
            np.testing.assert_allclose(result, expected, rtol=1e-5, atol=2e-5)
    many = pictures(150, 8, 8)
    for how in LIGHTS:
        np.testing.assert_array_equal(relight(many, how)[[0, 149]], relight(many[[0, 149]], how))
    floats = pictures().astype(np.float32) + 20
    np.testing.assert_allclose(relight(floats**1.5, "equalise"), relight(floats, "equalise"))
    np.testing.assert_allclose(relight(3 * floats + 2, "log") - relight(floats, "log"), np.log(3), atol=1e-5)
    np.testing.assert_allclose(relight(3 * floats + 2, "dog"), relight(floats, "dog"), atol=1e-4)
    assert (relight(np.full((1, 9, 9), 7, dtype=np.uint8), "dog") == 0).all()
    floats = pictures().astype(np.float32)
    assert relight(floats, "none") is floats
    with pytest.raises(DataError, match="A grey value is -3, but the logarithm needs values above"):
        relight(np.full((1, 8, 8), -3.0), "log")
    with pytest.raises(ParameterError, match=r"is not known\. Allowed:"):
        relight(pictures(), "equalize")
    given = pictures()
    np.testing.assert_allclose(unlight(relight(given, "log"), "log"), given, atol=1e-3)
    treated = relight(given, "dog")
    assert unlight(treated, "dog") is treated
    assert grey_scale(np.array([65535, 0], dtype=np.uint16)).tolist() == [255.0, 0.0]
    eight = np.array([255, 0], dtype=np.uint8)
    assert grey_scale(eight) is eight


def test_the_light_is_chosen_by_pictures_of_the_same_people():
    rng = np.random.default_rng(0)
    faces = drawn_faces(8, 5, size=(24, 28), seed=1)
    plain, people = np.asarray(faces.pictures, dtype=np.float64), np.array(faces.people)
    # Every picture gets another increasing change of its grey values, which equalising takes back.
    bent = (
        255 * (plain / 255) ** rng.uniform(0.2, 5.0, (len(plain), 1, 1)) * rng.uniform(0.3, 1.0, (40, 1, 1))
    )

    def share(pictures, light):
        rows = relight(pictures.astype(np.float32), light).reshape(40, -1).astype(np.float64)
        rows = rows - rows.mean(axis=0)
        hits = 0
        for i, row in enumerate(rows):
            cosines = rows @ row / np.linalg.norm(rows, axis=1)
            cosines[i] = -np.inf
            hits += people[cosines.argmax()] == people[i]
        return hits / 40

    for pictures in (plain, bent):
        shares = [share(pictures, light) for light in LIGHTS]
        best, why = choose_light(pictures.astype(np.float32), people)
        assert best == LIGHTS[int(np.argmax(shares))]
        assert f"{best} {100 * max(shares):.0f} %" in why
    space = FaceSpace(10, light="auto").fit(bent.astype(np.float32), people)
    assert space.light_ != "none"
    same = FaceSpace(10, light=space.light_).fit(bent.astype(np.float32), people)
    np.testing.assert_array_equal(space.transform(bent), same.transform(bent))
    assert space.fingerprint_ == same.fingerprint_
    assert space.light == "auto"
    assert "most similar to another one" in space.notes_[0]
    with pytest.raises(DataError, match="nobody has two"):
        FaceSpace(3, light="auto").fit(bent[::5].astype(np.float32), people[::5])
    with pytest.raises(DataError, match="nobody has two"):
        FaceSpace(3, light="auto").fit(bent.astype(np.float32))
