"""Pictures of faces from folders, archives, files and arrays: good ones, bad ones and malicious ones."""

import hashlib
import io
import os
import struct
import zipfile
import zlib

import numpy as np
import pytest
from PIL import Image

from gramian.errors import (
    DataError,
    FileError,
    GramianError,
    InputTypeError,
    MemoryLimitError,
    ParameterError,
)
from gramian.faces import read_faces


def grey(seed=0, height=12, width=10, dtype=np.uint8):
    return np.random.default_rng(seed).integers(0, np.iinfo(dtype).max, (height, width), dtype=dtype)


def encoded(array, kind="PNG", **options):
    buffer = io.BytesIO()
    Image.fromarray(array).save(buffer, kind, **options)
    return buffer.getvalue()


def write(folder, files):
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else encoded(content))
    return folder


def zipped(path, files):
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content if isinstance(content, bytes) else encoded(content))
    return path


PEOPLE = {"zoë/2.png": grey(0), "zoë/10.png": grey(1), "Юрий Ж/a b.png": grey(2), "山田/1.png": grey(3)}


def bomb(width=30_000, height=30_000):
    """A picture of a few bytes that says it has 900 million pixels."""

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    data = zlib.compress(b"\0" * 1000)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", data) + chunk(b"IEND", b"")


def test_a_folder_of_folders_names_people_and_skips_what_lies_beside(tmp_path):
    faces = read_faces(write(tmp_path, PEOPLE))
    assert faces.people == ("zoë", "zoë", "Юрий Ж", "山田")
    assert faces.names == ("zoë/2.png", "zoë/10.png", "Юрий Ж/a b.png", "山田/1.png")
    np.testing.assert_array_equal(faces.pictures, [grey(seed) for seed in range(4)])
    assert faces.pictures.dtype == np.uint8
    assert faces.hashes[0] == hashlib.sha256((tmp_path / "zoë/2.png").read_bytes()).hexdigest()
    assert (faces.skipped, faces.notes) == ((), ())
    assert repr(faces) == f"Faces(4 pictures of 3 people, 10x12, source='{tmp_path}')"
    write(tmp_path, PEOPLE | {"all.png": grey(9)})
    faces = read_faces(tmp_path)
    assert len(faces) == 4
    assert faces.skipped[0][0] == "all.png"
    assert "is in no folder, so its person is not known" in faces.skipped[0][1]


def test_folders_name_people_however_deep_unless_most_are_beside_them(tmp_path):
    files = {"anna/2023/1.png": grey(0), "anna/2024/1.png": grey(1)}
    assert read_faces(write(tmp_path / "deep", files)).people == ("anna", "anna")
    # Some systems store an accent apart from its letter.
    files = {"zoe\u0308/1.png": grey(0)}
    assert read_faces(write(tmp_path / "composed", files)).people == ("zo\u00eb",)
    assert read_faces(write(tmp_path / "flat", {"1.png": grey(0), "2.png": grey(1)})).people is None
    faces = read_faces(write(tmp_path / "most", {"old/1.png": grey(0), "a.png": grey(1), "b.png": grey(2)}))
    assert faces.people is None
    assert len(faces) == 3
    assert faces.notes == ("only 1 of 3 pictures are in folders: people are not taken from folders",)


def test_a_zip_is_like_a_folder_and_steps_up_are_nobody(tmp_path):
    assert read_faces(zipped(tmp_path / "f.zip", {"anna/1.png": grey(0)})).people == ("anna",)
    assert read_faces(zipped(tmp_path / "g.zip", {"1.png": grey(0)})).people is None
    for name in ("../1.png", "/1.png", "anna/../1.png"):
        assert read_faces(zipped(tmp_path / "f.zip", {name: grey(0)})).people is None
    assert read_faces(zipped(tmp_path / "f.zip", {"../anna/1.png": grey(0)})).people == ("anna",)
    for around in ["", "my faces/"]:
        path = zipped(tmp_path / "faces.zip", {around + name: picture for name, picture in PEOPLE.items()})
        faces = read_faces(path)
        assert faces.people == ("zoë", "zoë", "Юрий Ж", "山田")
        assert len(faces.notes) == bool(around)
        assert all("is the only folder in the archive" in note for note in faces.notes)


def test_lists_of_files_and_folders_and_sizes(tmp_path):
    write(tmp_path, PEOPLE)
    faces = read_faces([tmp_path / "山田/1.png", tmp_path / "zoë"])
    assert len(faces) == 3
    assert faces.people is None
    assert faces.names[1] == (tmp_path / "zoë/2.png").as_posix()
    assert faces.source == "2 paths"
    assert read_faces(str(tmp_path / "山田/1.png")).names == ((tmp_path / "山田/1.png").as_posix(),)
    write(tmp_path, PEOPLE)
    assert read_faces(tmp_path, size=(9, 8)).pictures.shape == (4, 8, 9)
    for size, kind in (
        ("1x1", ParameterError),
        ((7, 100), ParameterError),
        ((True, True), InputTypeError),
        ("24×28", ParameterError),
    ):
        with pytest.raises(kind, match=r'size="92x112"\.'):
            read_faces(tmp_path, size=size)


def test_depths_and_sizes_must_be_one(tmp_path):
    deep = grey(1, dtype=np.uint16)
    assert read_faces(write(tmp_path / "deep", {"1.png": deep})).pictures.dtype == np.uint16
    for name, content in (("2.png", deep), ("2.tif", encoded(grey(1).astype(np.float32), "TIFF"))):
        with pytest.raises(DataError, match="pictures of different kinds"):
            read_faces(write(tmp_path / name, {"1.png": grey(0), name: content}))
    mixed = write(tmp_path / "mixed", PEOPLE | {"anna/big.png": grey(0, 20, 30)})
    with pytest.raises(DataError, match=r"pictures of different sizes: anna/big\.png is 30x20"):
        read_faces(mixed)
    faces = read_faces(mixed, size="10x12")
    assert faces.pictures.shape == (5, 12, 10)
    assert faces.notes[0].startswith("1 of 5 pictures were resized to 10x12, the first from 30x20. Only")


def test_colours_of_print_animations_and_floats(tmp_path):
    flat = Image.new("CMYK", (10, 12), (0, 0, 0, 100))
    flat.save(tmp_path / "print.jpg")
    frames = [Image.fromarray(grey(seed)) for seed in (1, 2)]
    frames[0].save(tmp_path / "moving.gif", save_all=True, append_images=frames[1:])
    faces = read_faces(tmp_path)
    np.testing.assert_array_equal(faces.pictures[0], grey(1))
    assert np.abs(faces.pictures[1].astype(int) - 155).max() <= 3
    assert faces.notes == (
        "1 picture has several frames, and only the first was used",
        "1 colour picture was made grey (ITU-R 601-2 luma)",
    )
    values = np.full((12, 10), 0.25, dtype=np.float32)
    assert read_faces(write(tmp_path / "float", {"1.tif": encoded(values, "TIFF")})).pictures[0, 0, 0] == 0.25
    with pytest.raises(DataError, match=r"Picture 0 \(counted from 0\) contains NaN or infinity"):
        read_faces(write(tmp_path / "nan", {"1.tif": encoded(np.nan * values, "TIFF")}))


BAD = {
    "text.png": (b"hello", "is not a picture despite its name"),
    "cut.png": (encoded(grey(5, 60, 60))[:-700], "cannot be read: it is truncated, damaged"),
    "bomb.png": (bomb(), "has more than the 89,478,485 pixels"),
    "dot.png": (encoded(grey(0, 1, 1)), "is 1x1 pixels, below the minimum of 8 pixels a side"),
    "empty.jpg": (b"", "is not a picture"),
}


@pytest.mark.parametrize("name", BAD)
@pytest.mark.parametrize("inside", ["folder", "zip"])
def test_a_bad_picture_is_skipped_and_reported_or_refused(name, inside, tmp_path):
    content, why = BAD[name]
    files = PEOPLE | {f"anna/{name}": content}
    source = write(tmp_path / "f", files) if inside == "folder" else zipped(tmp_path / "f.zip", files)
    # Sizes are compared among what can be used: the damaged 60x60 picture is of another size.
    faces = read_faces(source, size=(10, 12) if name == "cut.png" else None)
    assert len(faces) == 4
    assert faces.skipped[0][0] == f"anna/{name}"
    assert faces.skipped[0][1].startswith(why)


def test_sources_without_a_picture(tmp_path):
    write(tmp_path, {f"{i}.png": b"text" for i in range(5)})
    with pytest.raises(DataError, match=r"contains no usable picture: 0\.png is not a picture"):
        read_faces(tmp_path)
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match=r"holds no pictures and no other files\. Pictures are \.png"):
        read_faces(tmp_path / "empty")
    with pytest.raises(DataError, match=r"The list of pictures is empty\. Give at least one path\."):
        read_faces([])
    write(tmp_path, {"1.png": b"text"})
    with pytest.raises(FileError, match="is not a picture despite its name, or its first bytes are"):
        read_faces(tmp_path / "1.png")
    (tmp_path / "f.zip").write_bytes(b"PK\x03\x04 and then nothing")
    with pytest.raises(FileError, match="truncated, damaged or protected"):
        read_faces(tmp_path / "f.zip")
    with pytest.raises(FileError, match=r"there is no such file or folder\. Check the path\."):
        read_faces(tmp_path / "gone")
    for source in (5, [5], None, [None], b"people", {"a": 1}, np.zeros((3, 12, 10))):
        with pytest.raises(InputTypeError, match=r"is not a path of pictures\. Give a folder, a \.zip, a"):
            read_faces(source)


def test_50_megapixels(tmp_path, monkeypatch):
    Image.new("L", (10_000, 5_000), 90).save(tmp_path / "huge.png")
    assert (read_faces(tmp_path, size=(20, 10)).pictures == 90).all()
    monkeypatch.setenv("GRAMIAN_MEMORY_LIMIT", "100MB")
    with pytest.raises(MemoryLimitError, match="pixels takes 250 MB, and 100 MB of memory may be used"):
        read_faces(tmp_path)


def test_pipes_are_not_waited_for(tmp_path):
    if not hasattr(os, "mkfifo"):
        pytest.skip("this system has no named pipes")
    os.mkfifo(tmp_path / "pipe.png")
    with pytest.raises(DataError, match=r"contains no usable picture: pipe\.png is not a regular"):
        read_faces(tmp_path)


@pytest.mark.parametrize("name", ["x.zip", "x.npz", "x.npy", "x.png"])
def test_a_pipe_under_the_name_of_a_file_is_not_waited_for(name, tmp_path):
    if not hasattr(os, "mkfifo"):
        pytest.skip("this system has no named pipes")
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / name).symlink_to(tmp_path / "pipe")
    with pytest.raises(GramianError, match=r"is not a regular file\. Save its|is not a regular file\."):
        read_faces(tmp_path / name)


def test_names_in_notes_can_be_printed_and_only_what_is_read_is_offered(tmp_path):
    inside = tmp_path / "a\x1b[31m"
    inside.mkdir()
    write(inside, {"p/1.png": grey(0), "\n.txt": b""})
    faces = read_faces(inside)
    assert faces.source == f"{tmp_path}/a\ufffd[31m"
    assert faces.notes == (f"1 other file was skipped in folder {faces.source}: \ufffd.txt",)
    for name in ["t.csv", "t.txt", "t.csv.gz", "t.parquet", "t.xlsx", "t.foo", "t"]:
        (tmp_path / name).write_text("1,2\n")
        with pytest.raises(FileError, match=r"is not a folder, a \.zip archive, a picture \(\.png") as one:
            read_faces(tmp_path / name)
        with pytest.raises(DataError, match=r"is not named like a picture\. A list of paths is") as several:
            read_faces([tmp_path / name])
        for error in (one, several):
            offered = str(error.value).removeprefix(str(tmp_path / name))
            assert not any(suffix in offered for suffix in (".csv", ".txt", ".parquet"))


def some(n=6, height=12, width=10):
    return np.random.default_rng(0).integers(0, 256, (n, height, width), dtype=np.uint8)


def test_arrays_with_people_and_names_that_may_not_fit(tmp_path):
    pictures = some(3)
    np.savez(tmp_path / "f.npz", X=pictures, y=[7, 7, 8], name=["a", "b", "c"])
    faces = read_faces(tmp_path / "f.npz")
    assert (faces.people, faces.names) == (("7", "7", "8"), ("a", "b", "c"))
    assert faces.hashes[0] == hashlib.sha256(pictures[0].tobytes()).hexdigest()
    np.save(tmp_path / "f.npy", pictures)
    faces = read_faces(tmp_path / "f.npy", size=(8, 9))
    assert (faces.people, faces.names, faces.pictures.shape) == (None, ("0", "1", "2"), (3, 9, 8))
    for y in [list("aab"), ["a", "a", "b", "", "c", "c"], [1, 1, 2, 2, 3, np.nan]]:
        np.savez(tmp_path / "f.npz", X=some(), y=y)
        with pytest.raises(DataError, match=r",\), but a text or whole number for each of the 6 pictures"):
            read_faces(tmp_path / "f.npz")
    np.savez(tmp_path / "f.npz", X=some(2), name="the name of the set")
    with pytest.raises(DataError, match=r"name holds .* Correct it, or leave name out"):
        read_faces(tmp_path / "f.npz")
    np.savez(tmp_path / "f.npz", X=some(2), y=["e\u0301", "\u00e9"], name=["\x1b[2Jq", "b"])
    faces = read_faces(tmp_path / "f.npz")
    assert faces.names == ("\ufffd[2Jq", "b")
    assert faces.people == ("\u00e9", "\u00e9")


def test_arrays_and_sizes_that_are_no_pictures_of_faces(tmp_path, monkeypatch):
    np.save(tmp_path / "f.npy", np.eye(3))
    with pytest.raises(DataError, match=r"Pictures of faces have three axes \(n, height, width\), not"):
        read_faces(tmp_path / "f.npy")
    (tmp_path / "g.npz").write_bytes(b"text")
    with pytest.raises(FileError, match=r"g\.npz cannot be read: it is truncated, damaged or protected"):
        read_faces(tmp_path / "g.npz")
    pictures = some().astype(float)
    pictures[4, 0, 0] = np.nan
    np.savez(tmp_path / "f.npz", X=pictures)
    with pytest.raises(DataError, match=r"Picture 4 \(counted from 0\) contains NaN or infinity\."):
        read_faces(tmp_path / "f.npz")
    for size in [None, (12, 12)]:
        np.save(tmp_path / "f.npy", some(height=4, width=4))
        with pytest.raises(DataError, match=r"is 4x4 pixels, below the minimum of 8 pixels a side\."):
            read_faces(tmp_path / "f.npy", size=size)
    np.save(tmp_path / "f.npy", some())
    monkeypatch.setenv("GRAMIAN_MEMORY_LIMIT", "1MB")
    with pytest.raises(MemoryLimitError, match=r"pixels takes 2\.7 MB, and 1 MB of memory may be used"):
        read_faces(tmp_path / "f.npy", size=(300, 300))


def test_names_that_cannot_be_printed(tmp_path):
    if os.name != "posix":
        pytest.skip("names of arbitrary bytes exist on POSIX only")
    odd = ["tab\there", "new\nline", "esc\x1b[31m", "byte\udcff"]
    try:
        source = write(tmp_path / "people", {f"{name}/{name}.png": grey(i) for i, name in enumerate(odd)})
    except OSError:
        pytest.skip("this file system takes only Unicode names")
    with zipfile.ZipFile(tmp_path / "p.zip", "w") as archive:
        for path in source.rglob("*[!\udcff].png"):
            archive.write(path, path.relative_to(source))
    for given, count in ((source, 4), (tmp_path / "p.zip", 3), (sorted(source.rglob("*.png")), 4)):
        faces = read_faces(given)
        assert len(faces) == count
        assert not any(letter in "".join(faces.names) for letter in "\t\n\x1b\udcff")
