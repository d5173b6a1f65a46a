import io
import sys

import pytest

from gramian.cli.run import prepare_streams

NAME = "Zo\u00eb \U0001f600 \udcff"


def stream(encoding):
    return io.TextIOWrapper(io.BytesIO(), encoding=encoding, errors="strict")


def written(made):
    made.flush()
    return made.buffer.getvalue()


@pytest.mark.parametrize(
    ("encoding", "expected"),
    [
        ("ascii", rb"Zo\xeb \U0001f600 \udcff"),
        ("latin-1", b"Zo\xeb " + rb"\U0001f600 \udcff"),
        ("utf-8", "Zo\u00eb \U0001f600 ".encode() + rb"\udcff"),
    ],
)
def test_every_text_can_be_printed(monkeypatch, encoding, expected):
    for name in ("stdout", "stderr"):
        monkeypatch.setattr(sys, name, stream(encoding))
    prepare_streams()
    for made in (sys.stdout, sys.stderr):
        print(NAME, file=made, end="")
        assert written(made) == expected


def test_closed_streams_are_nowhere(monkeypatch):
    for name in ("stdin", "stdout", "stderr"):
        monkeypatch.setattr(sys, name, None)
    prepare_streams()
    print("lost")
    print("lost", file=sys.stderr)
    sys.stdout.flush()
    assert sys.stdin.read() == ""


def test_streams_of_others_stay_as_they_are(monkeypatch):
    monkeypatch.setattr(sys, "stdout", io.StringIO())
    prepare_streams()
    print(NAME)
    assert sys.stdout.getvalue() == NAME + "\n"
