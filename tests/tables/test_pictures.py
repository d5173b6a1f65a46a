"""Pictures from folders, lists and archives, whole and damaged."""

import contextlib
import io
import os
import sys
import zipfile
from functools import partial

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

import gramian
from gramian.errors import DataError, FileError, GramianError, MissingExtraError
from gramian.tables.choose import table_of
from gramian.tables.formats import pictures as module
from gramian.tables.formats.pictures import (
    PictureFile,
    PictureForm,
    PictureSource,
    grey_values,
    open_member,
    picture_content,
    picture_form,
    pictures_in_folder,
    pictures_in_list,
    pictures_in_zip,
    readable,
    resized,
)
from gramian.tables.reading import ReadingOptions


def grey(height=4, width=3, seed=0):
    return np.random.default_rng(seed).integers(0, 256, (height, width), dtype=np.uint8)


def encoded(array, kind="PNG", mode=None, **options):
    buffer = io.BytesIO()
    image = Image.frombytes(mode, array.shape[1::-1], array.tobytes()) if mode else Image.fromarray(array)
    image.save(buffer, kind, **options)
    return buffer.getvalue()


def pictures(*data, names=None):
    names = names or [f"{index}.png" for index in range(len(data))]
    return [PictureFile(n, partial(io.BytesIO, d)) for n, d in zip(names, data, strict=True)]


def read_pictures(files, name, rows=None, size=None):
    return table_of(PictureSource(name, files), ReadingOptions(rows=rows, size=size))


def read(*data, **options):
    return read_pictures(pictures(*data), "memory", **options)


def test_grey_pictures_are_read_as_they_are():
    for kind in ("PNG", "PPM", "BMP", "GIF", "TIFF"):
        table = read(encoded(grey(), kind), encoded(grey(seed=1), kind))
        np.testing.assert_array_equal(table.values, [grey(), grey(seed=1)])
        assert table.values.dtype == np.uint8
        assert table.picture_shape == (4, 3)
        assert table.row_names == ("0.png", "1.png")
    flat = np.full((16, 16), 90, dtype=np.uint8)
    for lossy in ("JPEG", "WEBP"):
        assert np.abs(read(encoded(flat, lossy)).values.astype(int) - 90).max() <= 3
    for dtype in (np.uint8, np.uint16):
        deep = grey().astype(dtype) * (np.iinfo(dtype).max // 255)
        data = encoded(deep)
        (picture,) = pictures(data)
        assert picture_form(picture) == PictureForm(4, 3, np.dtype(dtype))
        assert picture_content(picture) == data
        values = grey_values("a.png", data, PictureForm(4, 3, np.dtype(dtype)))
        np.testing.assert_array_equal(values, deep)
    flat = encoded(np.full((40, 30), 77, dtype=np.uint8))
    resized = grey_values("a.png", flat, PictureForm(8, 6, np.dtype(np.uint8)))
    assert (resized == np.full((8, 6), 77)).all()


def test_colour_becomes_grey_and_sizes_keep_the_mean():
    colour = np.random.default_rng(0).integers(0, 256, (5, 6, 3), dtype=np.uint8)
    expected = colour @ [0.299, 0.587, 0.114]
    assert np.abs(read(encoded(colour)).values[0] - expected).max() <= 1
    batches = [Image.fromarray(np.full((8, 8), tone, dtype=np.uint8)) for tone in (200, 40, 90)]
    for kind in ("JPEG", "TIFF"):
        values = read(
            encoded(np.asarray(Image.merge("RGB", batches).convert("CMYK")), kind, mode="CMYK")
        ).values
        assert values.dtype == np.uint8
        assert np.abs(values - (0.299 * 200 + 0.587 * 40 + 0.114 * 90)).max() <= 4
    for array in (grey(8, 6), grey(8, 6).astype(np.uint16) * 257):
        table = read(encoded(array), encoded(np.ascontiguousarray(array[:4])), size=(3, 2))
        assert table.values.shape == (2, 2, 3)
        assert table.values.dtype == array.dtype
        flat = read(encoded(np.full_like(array, 200)), size=(3, 2)).values
        assert (flat == 200).all()
    np.testing.assert_array_equal(read(encoded(grey()), size=(3, 4)).values[0], grey())
    for dtype in (np.uint8, np.uint16, np.int32, np.float32, np.float64):
        values = (np.add.outer(np.arange(40), np.arange(30)) * 3).astype(dtype)
        result = resized(values, (15, 20))
        assert result.dtype == dtype
        assert result.shape == (20, 15)
        assert abs(result.astype(float).mean() - values.astype(float).mean()) < 1
        assert resized(values, (30, 40)) is values


def test_transparency_is_laid_on_white_which_a_note_says(tmp_path):
    opaque, alpha = grey(9, 8), np.arange(72, dtype=np.uint8).reshape(9, 8) * 3
    expected = 255 - (255 - opaque.astype(float)) * alpha / 255
    layers = [Image.fromarray(one) for one in (opaque, opaque, opaque, alpha)]
    images = {"LA": Image.merge("LA", [layers[0], layers[3]]), "RGBA": Image.merge("RGBA", layers)}
    for mode, image in images.items():
        table = read(encoded(np.asarray(image), "PNG", mode=mode))
        assert np.abs(table.values[0] - expected).max() <= 1, mode
        assert "1 picture with transparency was laid on white" in table.notes
        image.save(tmp_path / f"{mode}.png")
    palette, buffer = Image.fromarray(opaque).convert("P"), io.BytesIO()
    palette.save(buffer, "PNG", transparency=bytes(range(256)))
    laid = 255 - (255 - opaque.astype(float)) * opaque / 255
    assert np.abs(read(buffer.getvalue()).values[0] - laid).max() <= 1
    Image.fromarray(opaque).save(tmp_path / "A-plain.png")  # the first decides nothing
    table = gramian.scan(tmp_path).read()
    np.testing.assert_array_equal(table.values[0], opaque)
    assert np.abs(table.values[1:] - expected).max() <= 1
    assert "2 pictures with transparency were laid on white" in table.notes
    assert not any("transparency" in note for note in read(encoded(opaque, "PNG")).notes)
    faces = gramian.faces.read_faces(tmp_path)
    assert "2 pictures with transparency were laid on white" in faces.notes
    assert np.abs(faces.pictures[1:] - expected).max() <= 1


def test_deep_grey_and_orientation_are_kept():
    deep = grey().astype(np.uint16) * 257
    deep[0, 0] = 40_001
    for kind in ("PNG", "TIFF", "PPM"):
        table = read(encoded(deep, kind))
        assert table.values.dtype == np.uint16
        np.testing.assert_array_equal(table.values[0], deep)
    values = np.linspace(-1, 1, 12, dtype=np.float32).reshape(4, 3)
    np.testing.assert_array_equal(read(encoded(values, "TIFF")).values[0], values)
    exif = Image.Exif()
    turns = {1: lambda a: a, 2: np.fliplr, 3: lambda a: np.rot90(a, 2), 4: np.flipud,
             5: np.transpose, 6: lambda a: np.rot90(a, -1),
             7: lambda a: np.rot90(a, 2).T, 8: np.rot90}  # fmt: skip
    for orientation, turn in turns.items():
        exif[274] = orientation
        table = read(encoded(grey(), exif=exif.tobytes()))
        np.testing.assert_array_equal(table.values[0], turn(grey()))
        assert table.picture_shape == turn(grey()).shape


def test_only_what_is_asked_for_is_opened_and_must_fit():
    table = read(b"not opened", encoded(grey()), b"nor this", rows=slice(1, 2))
    assert table.row_names == ("1.png",)
    for data in (b"", b"hello, I am text", b"\x89PNG\r\n\x1a\n"):
        with pytest.raises(FileError, match=r"0\.png is not a picture despite its name, or its first"):
            read(data)
    with pytest.raises(DataError, match=r"pictures of different sizes: 0\.png is 3x4, 1\.png is 4x3"):
        read(encoded(grey()), encoded(grey(3, 4))[:60])
    with pytest.raises(DataError, match=r"pictures of different kinds: 0\.png has uint8 grey values,"):
        read(encoded(grey()), encoded(grey().astype(np.uint16)))


@given(
    st.sampled_from(["PNG", "JPEG", "PPM", "BMP", "GIF", "TIFF", "WEBP"]),
    st.lists(st.tuples(st.integers(0, 2000), st.integers(1, 255)), min_size=1, max_size=4),
)
def test_no_damage_raises_anything_foreign(kind, flips):
    data = bytearray(encoded(grey(16, 12), kind))
    for place, flip in flips:
        data[place % len(data)] ^= flip
    with contextlib.suppress(GramianError):
        assert read(bytes(data)).values.ndim == 3


def test_bytes_and_pixels_are_limited_and_the_limit_is_said(monkeypatch):
    monkeypatch.setattr(Image, "MAX_IMAGE_PIXELS", 1000)
    for side in (40, 400):  # Pillow warns of the first and refuses the second, and gives two limits.
        with pytest.raises(DataError, match=r"0\.png has more than the 1,000 pixels that a picture may"):
            read(encoded(grey(side, side)))
    monkeypatch.setattr(module, "LARGEST_FILE", 20)
    with pytest.raises(DataError, match=r"0\.png has more than the 20 bytes that a picture may have\."):
        read(encoded(grey()))


def test_folders_in_natural_order_with_links_and_without_pictures(tmp_path):
    for name in ["p10/Ünï 1.png", "p2/b 10.PNG", "p2/b 9.png", "p2/.hidden.png", ".git/x.png"]:
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(encoded(grey()))
    (tmp_path / "Thumbs.db").write_bytes(b"x")
    result, notes = pictures_in_folder(tmp_path)
    assert [picture.name for picture in result] == ["p2/b 9.png", "p2/b 10.PNG", "p10/Ünï 1.png"]
    assert notes == (f"1 other file was skipped in folder {tmp_path}: Thumbs.db",)
    assert read_pictures(result, "folder").values.shape == (3, 4, 3)
    (tmp_path / "all" / "own").mkdir(parents=True)
    (tmp_path / "all" / "own" / "1.png").write_bytes(encoded(grey()))
    (tmp_path / "all" / "again").symlink_to("own")
    (tmp_path / "all" / "up").symlink_to(tmp_path)
    assert [picture.name for picture in pictures_in_folder(tmp_path / "all")[0]] == ["own/1.png"]
    empty = tmp_path / "empty"
    empty.mkdir()
    with pytest.raises(DataError, match=r"holds no pictures and no other files\. Pictures are \.png"):
        pictures_in_folder(empty)
    for index in range(5):
        (empty / f"{index}.csv").write_text("1")
    with pytest.raises(DataError, match=r"holds no pictures but 5 other files \(0\.csv, 1\.csv, 2\.csv"):
        pictures_in_folder(empty)
    with pytest.raises(FileError, match=r"cannot be listed: No such file or directory\."):
        pictures_in_folder(tmp_path / "gone")
    with pytest.raises(FileError, match=r"cannot be read: No such file or directory\. Check the path\."):
        read_pictures(pictures_in_list([tmp_path / "gone.png"])[0], "list")


@pytest.mark.skipif(os.name != "posix", reason="names of arbitrary bytes exist on POSIX only")
def test_names_that_are_not_unicode_can_be_printed(tmp_path):
    assert readable("a\udcff.png").encode() == "a\ufffd.png".encode()
    assert readable("\x1b[2J\n\x9b.png") == "\ufffd[2J\ufffd\ufffd.png"
    assert readable("Zoë 山田\u00a0.png") == "Zoë 山田\u00a0.png"
    try:
        (tmp_path / os.fsdecode(b"\xff.png")).write_bytes(encoded(grey()))
    except OSError:
        pytest.skip("this file system takes only Unicode names")
    names = read_pictures(pictures_in_folder(tmp_path)[0], "folder").row_names
    assert names[0].encode("utf-8").endswith(b".png")


def archive(**entries):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as file:
        for name, data in entries.items():
            file.writestr(name, data)
    return zipfile.ZipFile(buffer)


def test_zip(tmp_path):
    entries = {
        "f/10.png": encoded(grey(seed=10)),
        "f/9.png": encoded(grey(seed=9)),
        "../up.png": encoded(grey(seed=1)),
        "__MACOSX/f/._9.png": b"x",
        "f/readme.txt": b"x",
    }
    with archive(**entries) as file:
        result, notes = pictures_in_zip(file, "x.zip")
        table = read_pictures(result, "x.zip")
    assert table.row_names == ("../up.png", "f/9.png", "f/10.png")
    assert "f/readme.txt" in notes[0]
    np.testing.assert_array_equal(table.values[1], grey(seed=9))
    path = tmp_path / "x.zip"
    for method in (zipfile.ZIP_DEFLATED, zipfile.ZIP_BZIP2, zipfile.ZIP_LZMA):
        with zipfile.ZipFile(path, "w", method) as file:
            file.writestr("a.png", encoded(grey()) + bytes(1 << 20))
        with zipfile.ZipFile(path) as file:
            file.getinfo("a.png").file_size = 1000
            with pytest.raises(zipfile.BadZipFile, match="CRC"):
                open_member(file, file.getinfo("a.png"), "x.zip")
            (picture,), _ = pictures_in_zip(file, "x.zip")
            message = r"a\.png cannot be read: it is truncated, .*\(Bad CRC"
            with pytest.raises(FileError, match=message):
                read_pictures([picture], "x.zip")
    with archive(**{"a.png": b"x", "\x1b[2Jx.txt": b"x"}) as file:
        assert pictures_in_zip(file, "x.zip")[1] == ("1 other file was skipped in x.zip: \ufffd[2Jx.txt",)


def test_what_is_unreadable_in_a_zip_is_refused_or_left_out(monkeypatch):
    long = encoded(grey()) + bytes(17 << 20)
    with archive(**{"a.png": long, "b.png": encoded(grey()), "c.png": encoded(grey())}) as file:
        file.getinfo("b.png").flag_bits |= 1
        result, notes = pictures_in_zip(file, "x.zip")
        with pytest.raises(DataError, match=r"^a\.png in x\.zip unpacks to 178\d+ bytes, \d+ times"):
            read_pictures(result, "x.zip")
        skipped = []
        source = PictureSource("x.zip", result, notes).array(None, None, skipped)
        assert source.row_names == ("c.png",)
        assert [name for name, _ in skipped] == ["a.png", "b.png"]
        assert skipped[1][1].startswith("is encrypted")
        monkeypatch.setattr("gramian.tables.formats.pictures.LARGEST_FILE", 10)
        with pytest.raises(DataError, match=r"x\.zip contains no usable picture: a\.png in x\.zip"):
            PictureSource("x.zip", result[:1]).array(None, None, [])


@pytest.mark.filterwarnings("ignore:Duplicate name")
def test_two_members_of_one_name(tmp_path):
    with zipfile.ZipFile(tmp_path / "x.zip", "w") as file:
        file.writestr("a\x1b.png", encoded(grey()))
        file.writestr("a\x1b.png", encoded(grey(seed=1)))
        result, _ = pictures_in_zip(file, "x.zip")
        np.testing.assert_array_equal(read_pictures(result, "x.zip").values, [grey(seed=1)])


def test_truncated_pictures_are_refused_and_hashes_cover_contents():
    one, two = encoded(grey()), encoded(grey(seed=1))
    hashes = {
        read(one, two).origin.sha256,
        read(two, one).origin.sha256,
        read_pictures(pictures(one, two, names=["a", "b"]), "x").origin.sha256,
    }
    assert len(hashes) == 3
    assert read(one, two).origin.sha256 == read(one, two).origin.sha256
    for kind in ["PNG", "JPEG", "PPM", "BMP", "GIF", "TIFF", "WEBP"]:
        data = encoded(grey(64, 48), kind)
        for share in (0.3, 0.6, 0.9):
            with pytest.raises(FileError, match=r"0\.png (is not a picture|cannot be read)"):
                read(data[: int(len(data) * share)])


def test_without_pillow_the_extra_is_named(monkeypatch):
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(MissingExtraError, match=r"reading pictures needs pillow, which is not installed\."):
        read(encoded_once)


encoded_once = encoded(grey())
