"""Figures as tables and as plain values."""

import json
from dataclasses import fields

import pytest

from gramian.faces.evaluation import FARS, AtCount, Evaluation


def row(count, **changed):
    values = {field.name: 0.25 for field in fields(AtCount)}
    values |= {name: None for name in values if name.endswith("_error")}
    values |= {"face_error": 0.5, "other_error": 0.75, "face_equal_error": 0.125}
    values |= {"n_components": count, "false_rejects": dict.fromkeys(FARS, 0.5)}
    return AtCount(**(values | changed))


PROTOCOL = {
    "source": "people",
    "pictures": 1400,
    "people": 40,
    "size": "92x112",
    "enrolled": 5,
    "splits": 10,
    "leave_out": 10,
    "light": "log",
    "shift": 0.04,
    "distance": "cosine",
    "discriminant": "auto",
    "match": "nearest",
    "far": 0.01,
    "others": "160 pictures of animals",
}


def evaluation(rows, **changed):
    protocol = PROTOCOL | changed
    return Evaluation(
        protocol, rows, 25, (("Ann", "Bob", 3),), 0.99, 0.001, 0.95, 0.01, 0.97, 0.02, ("Noted.",)
    )


def test_tables():
    text = str(evaluation((row(25, rank1=0.975, rank1_error=0.002, false_accepts=0.01), row(100))))
    assert text.startswith("1,400 pictures of 40 people; 10 splits, 5 of each enrolled, 10 people left out.")
    assert "        25  97.50 ±0.20" in text
    assert "strangers named %" in text
    assert "threshold for 1 % of strangers" in text
    assert "A face or not, by reconstruction error (160 pictures of animals)" in text
    assert "99.00 ±0.10 % of new faces pass, 95.00 ±1.00 % of others do not" in text
    assert "Where 99 % of new faces pass, 97.00 ±2.00 % do not" in text
    assert "Ann taken for Bob: 3 times" in text
    assert text.endswith("Noted.")
    lines = text.splitlines()
    heads = [i for i, line in enumerate(lines) if line.startswith("components")]
    assert len(heads) == 3
    for i in heads:
        assert [line.split()[0] for line in lines[i + 1 : i + 3]] == ["25", "100"]


def test_nobody_left_out():
    text = str(evaluation((row(25, false_accepts=None),), leave_out=0, splits=1))
    assert "strangers named" not in text
    assert "left out" not in text
    assert "1 split, 5 of each" in text


def test_what_is_not_known_is_a_dash():
    (line,) = [
        line
        for line in str(evaluation((row(25, predicted_false_reject=None),))).splitlines()
        if line.startswith("        25  25.00") and line.endswith("-")
    ]
    assert line


def test_plain_values():
    facts = evaluation((row(25),)).to_dict()
    text = json.dumps(facts, allow_nan=False)
    assert json.loads(text) == facts | {"notes": ["Noted."], "at": list(facts["at"])}
    assert facts["confusions"] == [{"person": "Ann", "taken_for": "Bob", "times": 3}]
    assert facts["at"][0]["false_rejects"][0] == {"far": 0.1, "false_rejects": 0.5}
    assert facts["others_refused"] == pytest.approx(0.95)
