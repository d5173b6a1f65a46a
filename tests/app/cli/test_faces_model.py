"""``faces fit`` and ``reconstruct`` on drawn faces, from the command line."""

import zipfile

import numpy as np
import pytest
from PIL import Image

import gramian as package
from drawn import drawn_faces
from gramian.faces import FaceSpace

FACES = drawn_faces(8, 4, size=(20, 24), seed=0)


def size_of(path):
    with Image.open(path) as picture:
        return picture.size


def write(folder, faces=FACES):
    for name, picture in zip(faces.names, faces.pictures, strict=True):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        Image.fromarray(picture).save(folder / name)
    return folder


@pytest.fixture
def work(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "faces")
    return tmp_path


@pytest.fixture
def model(work, gramian):
    gramian.works("faces fit faces -o faces.gramian --n-components 12")
    return "faces.gramian"


def test_fit_writes_the_model_and_says_what_it_is(work, gramian):
    ran = gramian.works("faces fit faces -o faces.gramian --n-components 12 --random-state 3")
    assert "32 pictures of 8 people, 20x24; light: none.\n12 components: 9" in ran.out
    assert "The limit for faces was calibrated on 32 held-out pictures" in ran.out
    assert "Written: faces.gramian. It can reproduce the pictures, so protect it like them" in ran.out
    expected = FaceSpace(12, random_state=3).fit(FACES)
    result = package.load("faces.gramian")
    assert result.fingerprint_ == expected.fingerprint_
    assert result.face_threshold_ == expected.face_threshold_


def test_fit_as_json(work, gramian):
    arguments = "--n-components 0.9 --light equalise --json"
    facts = gramian(f"faces fit faces -o m.gramian {arguments}").json
    assert (facts["pictures"], facts["people"], facts["skipped"]) == (32, 8, [])
    assert facts["size"] == {"width": 20, "height": 24}
    assert facts["light"] == "equalise"
    assert (
        facts["components"]
        == len(facts["eigenvalues"])
        == FaceSpace(0.9, light="equalise").fit(FACES).n_components_
    )
    assert 0.9 <= facts["explained_variance_ratio"] < 1
    assert facts["fingerprint"] == package.load("m.gramian").fingerprint_


def test_fit_with_a_size_and_a_zip(work, gramian):
    with zipfile.ZipFile("faces.zip", "w") as archive:
        for name in FACES.names:
            archive.write(f"faces/{name}", name)
    arguments = "--size 16x20 --n-components 5"
    ran = gramian.works(f"faces fit faces.zip -o m.gramian {arguments}")
    assert "32 of 32 pictures were resized to 16x20" in ran.err
    assert package.load("m.gramian").picture_shape_ == (20, 16)


def test_bad_pictures_are_reported_or_refused(work, gramian):
    (work / "faces" / "p01" / "text.png").write_text("not a picture")
    (work / "faces" / "p02" / "Thumbs.db").write_text("x")
    ran = gramian.works("faces fit faces -o m.gramian")
    assert "gramian: skipped: p01/text.png is not a picture" in ran.err
    assert "1 other file was skipped in folder faces: p02/Thumbs.db" in ran.err
    assert ", 1 skipped; light" in ran.out
    assert "\nThe limit for faces was calibrated on 32 held-out pictures" in ran.out


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ("gone -o m.gramian", 1, "gone: there is no such file or folder"),
        ("faces -o m.png", 2, "-o m.png: faces fit writes a model. Name a file that ends in .gramian"),
        ("faces -o no/m.gramian", 1, "there is no folder no"),
        ("faces -o m.gramian --n-components 0", 2, "n_components=0 is out of range"),
        ("faces -o m.gramian --n-components 99", 2, "at most 32 components"),
        ("faces -o m.gramian --light sun", 2, "light='sun' is not known"),
        ("faces -o m.gramian --size big", 2, "size='big' is not understood"),
        ("faces -o m.gramian --size 7x7", 2, "is below the minimum of 8 pixels a side"),
        ("fa\x1b[31mces -o m.gramian", 1, "fa\ufffd[31mces: there is no such file"),
        ("faces -o m.gramian --random-state -1", 2, "random_state=-1 must be a whole number"),
        ("faces/p01/1.png -o m.gramian", 1, "There is 1 picture, but a FaceSpace needs"),
        ("empty -o m.gramian", 1, "holds no pictures and no other files"),
    ],
)
def test_what_cannot_be_fitted(arguments, code, message, work, gramian):
    (work / "empty").mkdir()
    gramian.refuses(f"faces fit {arguments}", code, message)
    assert not list(work.glob("*.gramian"))


def test_mixed_sizes_propose_a_size(work, gramian):
    Image.new("L", (30, 30)).save("faces/p01/other.png")
    gramian.refuses(
        "faces fit faces -o m.gramian",
        1,
        "p01/1.png is 20x24, p01/other.png is 30x30 (width x height)",
        "size='20x24'",
    )


def test_other_models_are_refused(work, gramian):
    package.PCA(2).fit(np.eye(5)).save("pca.gramian")
    rebuild = "faces/p01/1.png -o x.png"
    gramian.refuses(
        f"faces reconstruct pca.gramian {rebuild}",
        2,
        "This is a PCA, not a model of faces. Fit one with: gramian faces fit",
    )
    (work / "broken.gramian").write_bytes((work / "pca.gramian").read_bytes()[:-9])
    assert gramian(f"faces reconstruct broken.gramian {rebuild}").code == 1


def test_reconstruct_prints_the_table_and_draws_the_strip(model, gramian):
    ran = gramian.works(f"faces reconstruct {model} faces/p03/2.png -k 1,4,12 -o strip.png")
    space, x = package.load(model), FACES.pictures[9:10].astype(float)
    lines = [line.split() for line in ran.out.splitlines() if line.strip()[:1].isdigit()]
    assert [int(line[0]) for line in lines] == [1, 4, 12]
    for count, relative in lines:
        back = space.reconstruct(FACES.take([9]), int(count))
        expected = np.linalg.norm(x - back) / np.linalg.norm(x - space.mean_face_)
        assert abs(float(relative) - expected) < 1e-4
    assert "Relative error: |x - x~| / |x - mean|." in ran.out
    width, height = size_of("strip.png")
    assert width > 2.5 * height


def test_reconstruct_as_json_and_by_default(model, gramian):
    facts = gramian(f"faces reconstruct {model} faces/p03/2.png -o strip.png --json").json
    assert [row["components"] for row in facts["reconstructions"]] == [12]
    assert facts["light"] == "none"


def test_a_picture_of_another_size_is_resized_and_it_is_said(model, gramian):
    Image.new("RGB", (300, 200), (200, 10, 10)).save("Foto von Zoë.jpg")
    ran = gramian.works(f"faces reconstruct {model} 'Foto von Zoë.jpg' -o strip.png")
    assert "were resized to 20x24" in ran.err


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        ("faces/p01/1.png -k 5,13", 2, "n_components=13 must be a whole number from 1 to 12"),
        ("faces/p01/1.png -k 5,x", 2, "n_components='5,x' is not understood"),
        ("faces/p01/1.png -k 0", 2, "n_components='0' is not understood. Give a whole number"),
        ("faces/p01", 2, "faces/p01 contains 4 pictures. Name one."),
        ("text.png", 1, "text.png is not a picture"),
        ("gone.png", 1, "there is no such file"),
    ],
)
def test_what_cannot_be_rebuilt(arguments, code, message, model, work, gramian):
    (work / "text.png").write_text("not a picture")
    gramian.refuses(f"faces reconstruct {model} {arguments} -o strip.png", code, message)
    assert not (work / "strip.png").exists()


def test_the_picture_is_not_overwritten_and_info_describes_faces(model, work, gramian):
    before = (work / "faces/p01/1.png").read_bytes()
    ran = gramian(f"faces reconstruct {model} faces/p01/1.png -o faces/p01/1.png")
    assert ran.code == 2
    assert (work / "faces/p01/1.png").read_bytes() == before
    ran = gramian.works(f"info {model}")
    assert ran.out.startswith("FaceSpace(light='none', memory_limit=None, n_components=12")
    assert "Kernel:" not in ran.out
    assert gramian(f"info {model} --json").json["model"]["kind"] == "FaceSpace"


def test_transform_writes_vectors_and_reconstruct_names_its_own_command(model, work, gramian):
    gramian.works(f"transform {model} faces/p01 -o vectors.csv")
    lines = (work / "vectors.csv").read_text(encoding="utf-8").splitlines()
    assert lines[0].split(",")[-1] == "PC12"
    expected = package.load(model).transform(FACES.take(slice(0, 4)))
    np.testing.assert_allclose(
        [[float(x) for x in line.split(",")[1:]] for line in lines[1:]], expected, rtol=1e-5
    )
    gramian.refuses(
        f"reconstruct {model} faces/p01 -o back",
        2,
        "needs a PCA, and this is a FaceSpace. For a model of faces: gramian faces reconstruct.",
    )


def test_names_are_printed_without_what_a_terminal_obeys(model, gramian):
    odd = "s\x1b[31m"
    ran = gramian(f"faces reconstruct {model} faces/p01/1.png -o {odd}.png")
    assert ran.out.endswith("Written: s\\x1b[31m.png\n")
    gramian.refuses(
        f"faces reconstruct {model} faces/p01/1.png -o {odd}.txt",
        2,
        "-o s\\x1b[31m.txt: faces reconstruct writes a file. Name a file",
    )
