"""The options of ``gramian faces`` reach the functions behind them, by name."""

import inspect
import re
from importlib import import_module

import pytest

from gramian.cli import faces_app

BODIES = {
    "fit": ("faces_model", "fit", ["DIR", "-o", "OUT"]),
    "show": ("faces_model", "show", ["MODEL", "-o", "OUT"]),
    "reconstruct": ("faces_model", "reconstruct", ["MODEL", "PICTURE", "-o", "OUT"]),
    "demo": ("faces_model", "demo", []),
    "enroll": ("faces_gallery", "enroll", ["MODEL", "GALLERY", "A", "B"]),
    "forget": ("faces_gallery", "forget", ["GALLERY", "--person", "Anna"]),
    "list": ("faces_gallery", "list_people", ["GALLERY"]),
    "identify": ("faces_gallery", "identify", ["MODEL", "GALLERY", "A"]),
    "verify": ("faces_gallery", "verify", ["MODEL", "GALLERY", "A", "--person", "Anna"]),
    "evaluate": ("faces_evaluate", "evaluate", ["DIR"]),
}


@pytest.mark.parametrize("command", BODIES)
def test_every_option_is_a_parameter_of_the_body(command, gramian, monkeypatch):
    home, name, arguments = BODIES[command]
    module = import_module(f"gramian.cli.{home}")
    wanted = set(inspect.signature(getattr(module, name)).parameters)
    given = {}
    monkeypatch.setattr(module, name, lambda **options: given.update(options) or True)
    ran = gramian("faces", command, *arguments)
    assert ran.code == 0, ran.err
    assert set(given) == wanted
    described = re.search(rf"``{name}\(([^)]*)\)``", faces_app.__doc__)
    assert {word.strip() for word in described[1].split(",")} == wanted


@pytest.mark.parametrize("command", ["identify", "verify"])
@pytest.mark.parametrize("answered", [True, False])
def test_the_exit_code_says_whether_all_were_answered(command, answered, gramian, monkeypatch):
    home, name, arguments = BODIES[command]
    monkeypatch.setattr(f"gramian.cli.{home}.{name}", lambda **options: answered)
    assert gramian("faces", command, *arguments).code == (0 if answered else 1)


def test_help_says_what_it_is_not_and_what_the_data_are(gramian):
    text = " ".join(gramian("faces", "--help").out.split())
    for said in (
        "must be cropped and aligned",
        "no liveness check",
        "no safety system",
        "biometric data",
        "Enroll people who know it and agree",
    ):
        assert said in text
    assert gramian("faces").code == 2
    text = " ".join(gramian("faces", "identify", "--help").out.split())
    assert "Exits with 0 when every picture was answered with a person, with 1 when one was not" in text
