import dataclasses
import json

from gramian.faces.figures import FARS, AtCount, Evaluation

ROW = AtCount(
    n_components=25,
    rank1=0.9712,
    rank1_error=0.004,
    equal_error=0.031,
    equal_error_error=0.002,
    false_rejects=dict.fromkeys(FARS, 0.25),
    identified=0.9,
    identified_error=0.01,
    misnamed=0.005,
    false_accepts=None,
    false_accepts_error=None,
    predicted_false_accept=0.001,
    predicted_false_reject=None,
    face_error=0.41,
    other_error=0.52,
    told_apart=0.33,
    face_equal_error=0.2,
)
PROTOCOL = {
    "pictures": 400,
    "people": 40,
    "splits": 1,
    "enrolled": 5,
    "leave_out": 0,
    "light": "log",
    "distance": "cosine",
    "discriminant": "auto",
    "match": "nearest",
    "far": 0.001,
    "others": "200 pictures of noise",
}
FOUND = Evaluation(
    PROTOCOL, (ROW,), 25, (("Ann", "Bob", 3),), 0.99, None, 0.96, None, 0.97, None, ("A note.",)
)


def test_the_tables_hold_every_figure():
    text = str(FOUND)
    assert text.startswith("400 pictures of 40 people; 1 split, 5 of each enrolled. light log")
    for shown in ("97.12 ±0.40", "90.00 ±1.00", "3.10 ±0.20", "25.00", "0.410", "0.520", "33.00"):
        assert shown in text
    assert "Ann taken for Bob: 3 times" in text
    assert "strangers named" not in text
    assert text.endswith("A note.")


def test_strangers_have_a_column_where_there_were_some():
    row = dataclasses.replace(ROW, false_accepts=0.008, false_accepts_error=0.001)
    found = dataclasses.replace(FOUND, at=(row,), protocol=PROTOCOL | {"leave_out": 10, "splits": 3})
    assert "10 people left out" in str(found)
    assert "3 splits" in str(found)
    assert "0.80 ±0.10" in str(found)


def test_json_has_it_all():
    facts = json.loads(json.dumps(FOUND.to_dict(), allow_nan=False))
    assert facts["at"][0]["false_rejects"][0] == {"far": 0.1, "false_rejects": 0.25}
    assert facts["confusions"] == [{"person": "Ann", "taken_for": "Bob", "times": 3}]
    assert facts["best"] == 25
