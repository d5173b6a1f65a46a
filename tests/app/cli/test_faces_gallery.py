"""Enrolling, forgetting, listing, identifying and verifying from the shell, on drawn faces."""

import os
import re
import shutil
import zipfile
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest

from damaged import reseal
from drawn import drawn_faces, drawn_others
from gramian.app.cli.inputs import read_all_pictures
from gramian.errors import FileError, MissingExtraError
from gramian.faces import FaceSpace
from gramian.faces.gallery import Gallery, changing
from gramian.models.model_file import read_model

Image = pytest.importorskip("PIL.Image")

SIZE = (24, 28)
PEOPLE = 8


def save(pixels, path):
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Image.fromarray(np.asarray(pixels)).save(path)


@pytest.fixture(scope="module")
def drawn(tmp_path_factory):
    """A model, and pictures of people: three of each fitted, three enrolled, two new; and no faces."""
    folder = tmp_path_factory.mktemp("drawn")
    faces = drawn_faces(PEOPLE, 8, size=SIZE, seed=0)
    places = np.arange(len(faces)) % 8
    FaceSpace(15).fit(faces.take(places < 3)).save(folder / "m.gramian")
    FaceSpace(4).fit(faces.take(places < 3)).save(folder / "other.gramian")
    for i, (pixels, name) in enumerate(zip(faces.pictures, faces.names, strict=True)):
        if places[i] >= 3:
            save(pixels, folder / ("people" if places[i] < 6 else "new") / name)
    for pixels, name in zip(drawn_others(2, size=SIZE).pictures, ("house.png", "tree.png"), strict=True):
        save(pixels, folder / "others" / name)
    return folder


@pytest.fixture
def place(drawn, tmp_path, monkeypatch):
    """A copy of all that to work in."""
    shutil.copytree(drawn, tmp_path, dirs_exist_ok=True)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def faces(gramian):
    def run(command, *arguments):
        return gramian(f"faces {command} {arguments}")

    return run


@pytest.fixture(scope="module")
def once():
    return {}


@pytest.fixture
def enrolled(place, gramian, once):
    """All of people/ in g.db: enrolled by the first test that asks, and copied for the others."""
    if not once:
        ran = gramian.works("faces enroll m.gramian g.db people")
        once.update(ran=ran, content=Path("g.db").read_bytes())
    Path("g.db").write_bytes(once["content"])
    return once["ran"]


def people(gallery="g.db"):
    return Gallery.open(gallery).counts()


EVERYBODY = {f"p{i:02}": 3 for i in range(1, PEOPLE + 1)}


def about(command, gallery):
    """Return a command line with what the command needs besides a gallery."""
    asked = gallery if command in ("list", "forget") else f"m.gramian {gallery} new/p01"
    person = " --person p01" if command in ("enroll", "verify", "forget") else ""
    return f"faces {command} {asked}{person}"


def test_enrolling_says_what_the_rate_of_strangers_costs(enrolled, gramian):
    last = enrolled.out.splitlines()[-1]
    assert last.startswith("identify uses the false accept rate 0.05; --far changes it. ")
    assert last.endswith(" % of new pictures of enrolled people are predicted to be rejected.")
    told = gramian("faces enroll m.gramian g.db people --json").json
    assert told["far"] == 0.05
    assert 0 <= told["predicted_false_reject"] <= 1


def test_enrolling_the_first_person(place, gramian):
    ran = gramian.works("faces enroll m.gramian g.db people/p01 --person p01")
    assert "warning: enrolled, but nobody can be recognised yet. 1 enrolled person cannot show" in ran.err
    assert people() == {"p01": 3}
    told = gramian("faces enroll m.gramian g.db people/p01 --person p01 --json").json
    assert (told["far"], told["predicted_false_reject"]) == (None, None)
    gramian.refuses("faces identify m.gramian g.db people/p01", 1, "Enroll at least 5.")


def test_a_folder_of_folders(enrolled, place):
    assert people() == EVERYBODY
    assert "p01: 3 enrolled\np02: 3 enrolled\n" in enrolled.out
    assert "\n24 pictures of 8 people enrolled. Written: g.db\n" in enrolled.out


def test_an_array_with_people(place, gramian):
    drawn = drawn_faces(3, 2, size=SIZE, seed=5)
    np.savez("faces.npz", X=drawn.pictures, y=np.array(drawn.people))
    gramian.works("faces enroll m.gramian g.db faces.npz")
    assert people() == {"p01": 2, "p02": 2, "p03": 2}


def test_pictures_of_one_person(enrolled, gramian):
    ran = gramian.works("faces enroll m.gramian g.db new/p01/7.png new/p02 --person 'Пётр Ильич'")
    assert people() == EVERYBODY | {"Пётр Ильич": 3}
    assert "Пётр Ильич: 3 enrolled" in ran.out


def test_the_same_pictures_again(enrolled, gramian):
    ran = gramian("faces enroll m.gramian g.db people --json")
    assert ran.json["enrolled"] == 0
    assert ran.json["people"][0] == {"person": "p01", "enrolled": 0}
    assert ran.json["known_already"] == 24
    ran = gramian("faces enroll m.gramian g.db people/p01 new/p01 --person p01")
    assert "p01: 2 enrolled\n" in ran.out
    assert "2 pictures of 1 person enrolled, 3 known already. Written: g.db" in ran.out
    assert people() == EVERYBODY | {"p01": 5}


def test_bad_pictures_are_reported_and_skipped(place, gramian):
    Path("people/p01/text.png").write_text("no picture")
    Path("people/p02/cut.png").write_bytes(Path("people/p02/4.png").read_bytes()[:60])
    for path in Path("people/p03").iterdir():
        path.write_bytes(b"")
    ran = gramian.works("faces enroll m.gramian g.db people")
    for what in ("skipped: p01/text.png is not a picture", "skipped: p02/cut.png", "skipped: p03/4.png"):
        assert what in ran.err
    assert "21 pictures of 7 people enrolled, 5 skipped. Written: g.db" in ran.out
    assert people() == {who: count for who, count in EVERYBODY.items() if who != "p03"}
    ran = gramian("faces enroll m.gramian g.db people --json")
    assert len(ran.json["skipped"]) == 5
    assert ran.json["skipped"][0]["picture"] == "p01/text.png"


def test_pictures_of_another_size_are_resized_with_a_note(place, gramian):
    with Image.open("new/p01/7.png") as picture:
        picture.resize((48, 56)).save("twice.png")
        picture.resize((60, 28)).save("wide.png")
    ran = gramian.works("faces enroll m.gramian g.db twice.png wide.png new/p01/8.png --person p01")
    assert "2 of 3 pictures were resized to 24x28, the first from 48x56. Only cropped" in ran.err


def test_what_looks_like_no_face_is_said(place, gramian):
    model = FaceSpace(15).fit(drawn_faces(PEOPLE, 3, size=SIZE, seed=0))
    model.face_threshold_ = 0.0
    model.save("m.gramian")
    ran = gramian.works("faces enroll m.gramian g.db people/p01 --person p01 --json")
    assert "warning: 3 of 3 enrolled pictures not recognised as a face: people/p01/4.png" in ran.err
    assert ran.json["looks_like_no_face"] == [f"people/p01/{i}.png" for i in (4, 5, 6)]


def test_names_with_blanks_and_of_every_script(place, gramian):
    for number, name in enumerate(("Anna Maria", "王小明", "Zo\u00eb", "O'Brien"), start=1):
        shutil.move(f"people/p0{number}", f"team/{name}")
    gramian.works("faces enroll m.gramian g.db team")
    assert people() == {"Anna Maria": 3, "O'Brien": 3, "Zo\u00eb": 3, "王小明": 3}
    assert "王小明: 3 pictures\n" in gramian("faces list g.db").out + "\n"
    gramian.works("faces forget g.db --person Zoe\u0308")
    assert gramian("faces verify m.gramian g.db team/王小明/4.png --person 王小明").code in (0, 1)


@pytest.mark.parametrize(
    ("arguments", "code", "said"),
    [
        ("people/p01", 2, ".png: the person is not known. Give person, or a folder with one folder"),
        ("people/p01/4.png people/p02/4.png", 2, "people/p01/4.png: the person is not known."),
        ("people --person Anna", 2, "people has folders of 8 people, but person names one"),
        ("people/p01 --person ''", 1, "The name '' has 0 characters"),
        ("people/p01 --person 'a\tb'", 1, "or one that cannot be displayed"),
        ("nowhere", 1, "nowhere"),
        ("people nowhere", 1, "nowhere"),
        ("m.gramian", 1, "m.gramian is "),
        ("empty", 1, "empty holds no pictures"),
        ("text.png --person Anna", 1, "text.png is not a picture despite its name"),
        ("tiny.png --person Anna", 1, "tiny.png is 1x1 pixels"),
        ("", 2, "Missing argument"),
    ],
)
def test_what_cannot_be_enrolled_leaves_nothing(place, gramian, arguments, code, said):
    Path("empty").mkdir()
    Path("text.png").write_text("no picture")
    save(np.zeros((1, 1), np.uint8), "tiny.png")
    before = sorted(os.listdir())
    gramian.refuses(f"faces enroll m.gramian g.db {arguments}", code, said)
    assert sorted(os.listdir()) == before


def test_a_picture_of_two_people(enrolled, place, gramian):
    shutil.copy("people/p01/4.png", "copy.png")
    before = Path("g.db").read_bytes()
    gramian.refuses(
        "faces enroll m.gramian g.db new/p02/7.png copy.png --person p02",
        1,
        "Picture 1 (counted from 0) is already enrolled for p01, so it cannot be p02. Nothing was stored",
    )
    assert Path("g.db").read_bytes() == before
    shutil.copy("people/p01/4.png", "people/p02/9.png")
    assert gramian("faces enroll m.gramian new.db people").code == 1
    assert not Path("new.db").exists()


@pytest.mark.parametrize("command", ["enroll", "identify", "verify"])
def test_a_gallery_of_another_model(enrolled, gramian, command):
    options = "--person p01" if command != "identify" else []
    gramian.refuses(
        f"faces {command} other.gramian g.db new/p01 {options}",
        1,
        "g.db was made with the model",
        "Use the gallery's own model, or enroll everybody in a new gallery",
    )


@pytest.mark.parametrize("command", ["enroll", "identify", "verify", "list", "forget"])
def test_what_is_no_gallery(place, gramian, command):
    Path("text.db").write_text("a list of people\n" * 200)
    Path("empty.db").touch()
    for name, said in {
        "text.db": "text.db is of another kind, not a model or gallery",
        "empty.db": "empty.db is empty",
        "people": "people is not a file",
        "m.gramian": "m.gramian holds a FaceSpace, not a gallery",
    }.items():
        gramian.refuses(about(command, name), 1, said)


@pytest.mark.parametrize("command", ["identify", "verify", "list", "forget"])
def test_a_gallery_that_is_not_there(place, gramian, command):
    said = "no.db does not exist. Check the name"
    gramian.refuses(about(command, "no.db"), 1, said)
    assert not Path("no.db").exists()


def test_a_model_that_is_none(enrolled, gramian):
    said = gramian("faces identify g.db g.db new").err
    assert "g.db is a gallery of people, not a model. Name the model" in said
    assert "no.gramian does not exist" in gramian("faces enroll no.gramian new.db people").err


@pytest.mark.skipif(os.name != "posix" or os.geteuid() == 0, reason="the superuser may write everywhere")
def test_a_protected_gallery_can_be_asked(enrolled, place, gramian):
    Path("g.db").chmod(0o400)
    for arguments in ("enroll m.gramian g.db new", "forget g.db --person p01"):
        gramian.refuses(f"faces {arguments}", 1, "g.db cannot be changed: g.db is write-protected")
    assert gramian("faces identify m.gramian g.db new").out
    Path("g.db").chmod(0o600)
    place.chmod(0o500)
    try:
        assert f"{place} is write-protected" in gramian("faces forget g.db --person p01").err
        assert gramian("faces identify m.gramian g.db new").out
        assert "cannot be written" in gramian("faces enroll m.gramian new.db new").err
    finally:
        place.chmod(0o700)
    assert people() == EVERYBODY


def test_what_fails_at_the_end_leaves_the_gallery_as_it_was(enrolled, place, gramian, monkeypatch):
    before = Path("g.db").read_bytes()

    def refuse(*arguments, **options):
        raise FileError("the disk is full.")

    monkeypatch.setattr("gramian.faces.gallery.write_model", refuse)
    gramian.refuses("faces enroll m.gramian g.db new", 1, "the disk is full.")
    assert Path("g.db").read_bytes() == before


def test_forgetting(enrolled, place, gramian):
    data = Path("g.db").read_bytes()
    assert b"p05" in data
    ran = gramian.works("faces forget g.db --person p05")
    assert ran.out == "3 pictures of p05 removed from g.db.\n"
    assert people() == {who: count for who, count in EVERYBODY.items() if who != "p05"}
    assert b"p05" not in Path("g.db").read_bytes()
    gramian.refuses(
        "faces forget g.db --person P01x", 1, "P01x is not among the 7 people of the gallery. See who"
    )
    assert gramian("faces forget g.db").code == 2


def test_listing(enrolled, place, gramian):
    gramian("faces enroll m.gramian g.db new/p01 --person p01")
    lines = gramian("faces list g.db").out.splitlines()
    assert lines[0].startswith("8 people, 26 pictures; model ")
    assert lines[0].endswith(", 15 components.")
    assert lines[1:3] == ["p01: 5 pictures", "p02: 3 pictures"]
    facts = gramian("faces list g.db --json").json
    assert facts["pictures"] == 26
    assert facts["people"][0] == {"name": "p01", "pictures": 5}
    assert facts["components"] == 15
    assert len(facts["model"]) == 64


def test_listing_nobody(enrolled, gramian):
    with changing("g.db") as gallery:
        for name in EVERYBODY:
            gallery.forget(name)
    assert gramian.works("faces list g.db").out.startswith("0 people, 0 pictures; model ")
    gramian.refuses(
        "faces identify m.gramian g.db new", 1, "Nobody is enrolled in the gallery. Start with: gramian faces"
    )


def test_enrolled_pictures_are_recognised(enrolled, gramian):
    ran = gramian.works("faces identify m.gramian g.db people/p02/4.png people/p03 --json")
    results = [(answer["picture"], answer["kind"], answer["person"]) for answer in ran.json["answers"]]
    assert results == [
        ("people/p02/4.png", "person", "p02"),
        *((f"people/p03/{i}.png", "person", "p03") for i in (4, 5, 6)),
    ]
    assert all(answer["score"] >= answer["threshold"] for answer in ran.json["answers"])
    assert all(answer["runner_up"] != answer["person"] for answer in ran.json["answers"])
    calibration = ran.json["calibration"]
    assert (calibration["far"], calibration["far_asked"], calibration["people"]) == (0.05, None, PEOPLE)
    assert calibration["threshold"] == ran.json["answers"][0]["threshold"]


def test_one_line_a_picture_and_what_the_threshold_is(enrolled, gramian):
    ran = gramian("faces identify m.gramian g.db people/p02/4.png others/tree.png")
    assert ran.code == 1
    lines = ran.out.splitlines()
    assert lines[0].startswith("people/p02/4.png: ")
    assert "p02" in lines[0]
    assert lines[1].startswith("others/tree.png: ")
    assert lines[2] == ""
    assert lines[3].startswith("8 people enrolled; false accept rate 0.05; similarity threshold ")
    assert "Predicted: an unknown share of strangers are accepted. " in lines[3]
    assert lines[3].endswith(" % of new pictures of enrolled people are predicted to be rejected.")
    ran = gramian("faces verify m.gramian g.db people/p02/4.png --person p02")
    assert "an unknown share of other people's pictures are accepted as p02. " in ran.out
    assert "at least 10 are needed" in ran.out
    assert "\nNo discriminants are used" in ran.out


def test_what_is_not_known_of_people_with_one_picture(place, gramian):
    for number in range(1, 7):
        gramian(f"faces enroll m.gramian g.db people/p0{number}/4.png --person p0{number}")
    ran = gramian("faces identify m.gramian g.db people/p01/4.png")
    assert "An unknown share of new pictures of enrolled people are predicted" in ran.out.splitlines()[2]
    assert "Nobody has two pictures" in ran.out
    ran = gramian("faces identify m.gramian g.db people/p01/4.png --json")
    assert ran.json["calibration"]["predicted_false_reject"] is None


def test_what_is_no_face(enrolled, place, gramian):
    save(np.random.default_rng(0).integers(0, 256, SIZE[::-1], dtype=np.uint8), "noise.png")
    ran = gramian("faces identify m.gramian g.db noise.png --json")
    assert ran.code == 1
    (answer,) = ran.json["answers"]
    assert answer["kind"] == "not-a-face"
    assert answer["person"] is None
    assert answer["face_score"] > answer["face_threshold"]


def test_a_stranger_is_nobody(enrolled, gramian):
    gramian.works("faces forget g.db --person p08")
    ran = gramian("faces identify m.gramian g.db people/p08 --json")
    assert ran.code == 1
    assert [answer["person"] for answer in ran.json["answers"]] == [None] * 3
    assert {answer["kind"] for answer in ran.json["answers"]} <= {"unknown", "not-a-face"}


def test_answers_do_not_change_the_gallery(enrolled, gramian):
    before = Path("g.db").read_bytes()
    gramian("faces identify m.gramian g.db new")
    gramian("faces verify m.gramian g.db new --person p01")
    assert Path("g.db").read_bytes() == before


def test_a_larger_share_of_false_accepts_lowers_the_threshold(enrolled, gramian):
    def calibration(far):
        return gramian(f"faces identify m.gramian g.db new/p01 --json --far {far}").json["calibration"]

    ran = gramian("faces identify m.gramian g.db people/p02/4.png --far 0.2")
    assert "8 people enrolled; false accept rate 0.2; similarity threshold " in ran.out
    strict, lax = calibration(0.001), calibration(0.4)
    assert (strict["far"], lax["far"]) == (0.001, 0.4)
    assert lax["threshold"] < strict["threshold"]
    gramian.refuses(
        "faces identify m.gramian g.db new/p01 --far 2", 2, "far=2.0 must be a number above 0 and below 1"
    )


def test_verifying(enrolled, gramian):
    ran = gramian.works("faces verify m.gramian g.db people/p02 --person ' p02' --json")
    assert [(answer["kind"], answer["person"]) for answer in ran.json["answers"]] == [("person", "p02")] * 3
    save(np.random.default_rng(0).integers(0, 256, SIZE[::-1], dtype=np.uint8), "noise.png")
    ran = gramian("faces verify m.gramian g.db noise.png --person p02 --json")
    assert (ran.code, ran.json["answers"][0]["kind"]) == (1, "not-a-face")
    ran = gramian("faces verify m.gramian g.db people/p02 --person p03")
    assert ran.code == 1
    assert ran.out.startswith("people/p02/4.png: ")
    gramian.refuses(
        "faces verify m.gramian g.db people/p02 --person p0",
        1,
        "p0 is not among the 8 people of the gallery. See who",
    )
    assert gramian("faces verify m.gramian g.db people/p02").code == 2


def test_a_zip_archive_of_pictures(enrolled, gramian):
    with zipfile.ZipFile("door.zip", "w") as archive:
        archive.write("people/p02/4.png", "today/4.png")
        archive.writestr("today/text.png", "no picture")
    ran = gramian("faces identify m.gramian g.db door.zip --json")
    assert [answer["picture"] for answer in ran.json["answers"]] == ["door.zip/today/4.png"]
    assert ran.json["skipped"][0]["picture"] == "today/text.png"
    assert ran.code == 1


def test_everything_that_can_be_read_is_answered(enrolled, gramian):
    Path("text.png").write_text("no picture")
    Path("empty").mkdir()
    for bad in ("text.png", "empty", "nowhere"):
        for options in ("", "--json"):
            ran = gramian(f"faces identify m.gramian g.db people/p02 {bad} {options}")
            assert ran.code == 1
            assert re.search(f"gramian: skipped: .*{bad}", ran.err)
        assert [answer["person"] for answer in ran.json["answers"]] == ["p02"] * 3
        assert [entry["picture"] for entry in ran.json["skipped"]] == [bad]
        ran = gramian(f"faces verify m.gramian g.db {bad} people/p02/4.png --person p02")
        assert ran.code == 1
        assert ran.out.startswith("people/p02/4.png: p02")


@pytest.mark.parametrize("bad", ["text.png", "text.png nowhere", "nowhere", "empty"])
def test_json_also_where_nothing_can_be_read(enrolled, gramian, bad):
    Path("text.png").write_text("no picture")
    Path("empty").mkdir()
    ran = gramian(f"faces identify m.gramian g.db {bad} --json")
    assert ran.code == 1
    assert ran.json["answers"] == []
    assert [entry["picture"] for entry in ran.json["skipped"]] == bad.split()
    assert bad.split()[0] in ran.err
    gramian.refuses(f"faces identify m.gramian g.db {bad}", 1, bad.split()[0])


def test_everything_that_can_be_read_is_enrolled(place, gramian):
    Path("empty").mkdir()
    ran = gramian.works("faces enroll m.gramian g.db empty people --json")
    assert [entry["picture"] for entry in ran.json["skipped"]] == ["empty"]
    assert people() == EVERYBODY


def change(**header):
    reseal(Path("g.db"), lambda content: content | header)


def test_an_altered_gallery_is_refused_by_every_command(enrolled, gramian):
    change(hashes="{")
    before = Path("g.db").read_bytes()
    said = "g.db is damaged: its contents are not those of a gallery. Restore it from a copy"
    for command in ("list", "identify", "enroll", "forget"):
        gramian.refuses(about(command, "g.db"), 1, said)
    assert Path("g.db").read_bytes() == before


def test_what_was_put_in_is_shown_as_what_it_is(enrolled, gramian):
    names = read_model("g.db").content["people"]
    change(people=["\x1b[2J\np99  7" if name == "p02" else name for name in names])
    ran = gramian("faces list g.db")
    assert "\x1b" not in ran.out
    assert len(ran.out.splitlines()) == 1 + PEOPLE
    assert r"\x1b[2J\np99  7" in ran.out
    assert "\x1b" not in gramian("faces identify m.gramian g.db people/p02").out


def test_a_link_that_leads_nowhere(place, gramian):
    Path("dangling.db").symlink_to("nothing.db")
    Path("loop.db").symlink_to("loop.db")
    for command in ("list", "identify", "enroll", "forget"):
        for name in ("dangling.db", "loop.db"):
            gramian.refuses(about(command, name), 1, name)
    assert not Path("nothing.db").exists()


SPACE = SimpleNamespace(picture_shape_=(28, 24))


def test_what_is_missing_to_read_anything_is_no_bad_picture(place, monkeypatch):
    def refuse(*arguments, **options):
        raise MissingExtraError("images", "pillow", "reading pictures")

    monkeypatch.setattr("gramian.faces.face_images.read_faces", refuse)
    with pytest.raises(MissingExtraError, match=r"reading pictures needs pillow, which is not installed\."):
        read_all_pictures(["people", "new/p01/7.png"], SPACE)
