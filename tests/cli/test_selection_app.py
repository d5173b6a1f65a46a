"""The options of ``select``: all of them reach the command, and are explained."""

import re
from dataclasses import fields

import pytest

from gramian.cli.options import Reading
from gramian.cli.selection_app import Selecting


@pytest.fixture
def called(monkeypatch):
    """What the command hands to its body."""
    import gramian.cli.selecting as body

    seen = []
    monkeypatch.setattr(body, "select", lambda *given: seen.append(given))
    return seen


def test_defaults(gramian, called):
    assert gramian("select", "a.csv").code == 0
    assert called == [("a.csv", None, Reading(), Selecting(), False)]


def test_every_option_arrives(gramian, called):
    given = Selecting(*("backward", "knn", "0.5", 0.1, 3, "mrmr", True, 4, True, True, "roc_auc", 7, 5))
    arguments = (
        "--method backward --estimator knn --features 0.5 --alpha 0.1 --cv 3 --redundancy mrmr --floating"
    )
    more = "--patience 4 --nested --no-validate --scoring roc_auc --neighbors 7 --seed 5"
    rest = ("--label", "y", "-o", "f.txt", "--json")
    assert gramian("select", "a.csv", *arguments.split(), *more.split(), *rest).code == 0
    assert called == [("a.csv", "f.txt", Reading(label="y"), given, True)]


def test_help_names_every_option_with_its_default(gramian):
    text = " ".join(gramian("select", "--help").out.split())
    for field in fields(Selecting):
        assert f"--{field.name.replace('_', '-')}" in text
    for default in (r"\[mutual-information\]", r"\[cv; best\]", r"\[5\]", r"\[0.05\]", r"\[accuracy; r2\]"):
        assert re.search(default, text)
    assert "Needs --label." in text


def test_numbers_are_read_as_numbers(gramian):
    for option in ("--cv", "--patience", "--neighbors", "--seed", "--alpha"):
        ran = gramian("select", "a.csv", option, "many")
        assert ran.code == 2
        assert f"'{option}'" in ran.err


def test_the_other_command_is_there(gramian):
    assert gramian("choose-kernel", "--help").code == 0
