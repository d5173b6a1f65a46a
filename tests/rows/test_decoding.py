"""One picture at a time: header, grey values and what is wrong."""

import hashlib
import io
from functools import partial

import numpy as np
import pytest
from PIL import Image

from gramian.errors import DataError, FileError
from gramian.rows import decoding
from gramian.rows.decoding import Picture, PictureForm, decode_picture, picture_form, readable, resized


def encoded(image, kind="PNG", **options):
    buffer = io.BytesIO()
    (Image.fromarray(image) if isinstance(image, np.ndarray) else image).save(buffer, kind, **options)
    return buffer.getvalue()


def picture(data, name="a.png"):
    return Picture(name, partial(io.BytesIO, data))


def grey(height=12, width=9, dtype=np.uint8):
    return np.random.default_rng(0).integers(0, np.iinfo(dtype).max, (height, width), dtype=dtype)


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_header_and_values(dtype):
    data = encoded(grey(dtype=dtype))
    assert picture_form(picture(data)) == (PictureForm(12, 9, np.dtype(dtype)), False)
    decoded = decode_picture(picture(data))
    np.testing.assert_array_equal(decoded.values, grey(dtype=dtype))
    assert decoded.sha256 == hashlib.sha256(data).hexdigest()


def test_the_form_is_that_of_the_upright_picture():
    exif = Image.Exif()
    exif[274] = 6
    data = encoded(grey(), exif=exif.tobytes())
    assert picture_form(picture(data))[0] == PictureForm(9, 12, np.dtype(np.uint8))
    np.testing.assert_array_equal(decode_picture(picture(data)).values, np.rot90(grey(), -1))


def test_several_frames():
    frames = [Image.fromarray(grey()), Image.fromarray(255 - grey())]
    data = encoded(frames[0], "GIF", save_all=True, append_images=frames[1:])
    assert picture_form(picture(data))[1]
    np.testing.assert_array_equal(decode_picture(picture(data)).values, grey())


def test_colours_of_print_become_grey():
    red, green, blue = (np.full((8, 8), tone, dtype=np.uint8) for tone in (200, 40, 90))
    colour = Image.merge("RGB", [Image.fromarray(band) for band in (red, green, blue)])
    expected = 0.299 * 200 + 0.587 * 40 + 0.114 * 90
    for kind in ("JPEG", "TIFF"):
        values = decode_picture(picture(encoded(colour.convert("CMYK"), kind))).values
        assert values.dtype == np.uint8
        assert np.abs(values - expected).max() <= 4


def test_size():
    flat = np.full((40, 30), 77, dtype=np.uint8)
    assert (decode_picture(picture(encoded(flat)), (6, 8)).values == np.full((8, 6), 77)).all()


def test_too_many_bytes_are_not_read(monkeypatch):
    monkeypatch.setattr(decoding, "LARGEST_FILE", 20)
    with pytest.raises(DataError, match=r"a\.png has more than the 20 bytes that a picture may have"):
        decode_picture(picture(encoded(grey())))


def test_damage_names_the_picture():
    with pytest.raises(FileError, match=r"a\.png is no picture"):
        picture_form(picture(b"text"))
    with pytest.raises(FileError, match=r"a\.png cannot be read: it is truncated"):
        decode_picture(picture(encoded(grey(64, 64))[:-900]))


@pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.int32, np.float32, np.float64])
def test_resizing_keeps_kind_and_mean(dtype):
    values = (np.add.outer(np.arange(40), np.arange(30)) * 3).astype(dtype)
    found = resized(values, (15, 20))
    assert found.dtype == dtype
    assert found.shape == (20, 15)
    assert abs(found.astype(float).mean() - values.astype(float).mean()) < 1
    assert resized(values, (30, 40)) is values


def test_names_that_cannot_be_printed():
    assert readable("a\udcff.png").encode() == "a\ufffd.png".encode()
    assert readable("\x1b[2J\n\x9b.png") == "\ufffd[2J\ufffd\ufffd.png"
    assert readable("Zoë 山田\u00a0.png") == "Zoë 山田\u00a0.png"


def test_16_bit_grey_that_is_decoded_to_wider_integers():
    deep = grey(dtype=np.uint16)
    found = decode_picture(picture(encoded(deep, "PPM"))).values
    assert found.dtype == np.uint16
    np.testing.assert_array_equal(found, deep)


@pytest.mark.parametrize("side", [40, 400])
def test_pixels_are_limited_and_the_limit_is_said(side, monkeypatch):
    # Pillow warns of the first and refuses the second, and gives two limits.
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 1000)
    message = rf"too large to be decoded safely: it has {side * side:,}, more than the 1,000 pixels that"
    with pytest.raises(DataError, match=message):
        picture_form(picture(encoded(grey(side, side))))
