import errno
import io
import os
import signal
import subprocess
import sys
from pathlib import Path
from unittest.mock import Mock

import pytest

import gramian.app.cli.inputs  # noqa: F401 (loaded late it would keep the mocks of this file)
from gramian.app.cli import main
from gramian.app.cli.run import prepare_streams
from gramian.app.verbs import fit as fitting
from gramian.report import tables

GRAMIAN = (sys.executable, "-m", "gramian")


# Tests may run without the buffers that users have.
BUFFERED = {name: value for name, value in os.environ.items() if name != "PYTHONUNBUFFERED"}


def test_mistakes_are_a_line_and_a_code(folder, gramian):
    for arguments, code, message in [
        ("fit no.csv -o m.gramian", 1, "no.csv: there is no such file"),
        ("fit flowers.csv --as-is -o m.gramian", 1, "species"),
        ("fit flowers.csv --drop specie -o m.gramian", 2, "Did you mean 'species'"),
        ("fit flowers.csv --drop species --n-components 9 -o m.gramian", 2, "n_components=9"),
        ("fit flowers.csv --drop species --memory-limit 10 -o m.gramian", 1, "memory"),
        ("fit flowers.csv --bogus", 2, "--bogus"),
        ("fit", 2, "DATA"),
        ("nonsense", 2, "nonsense"),
    ]:
        ran = gramian(arguments)
        assert (ran.code, ran.out) == (code, "")
        last = ran.err.strip().splitlines()[-1]
        assert last.startswith("gramian: ")
        assert message in last
        assert not (folder / "m.gramian").exists()


def test_a_wrong_expression_is_shown_with_a_mark_under_the_column(gramian):
    ran = gramian("kernels audit 'rbf + rfb(sigma=1)'")
    assert (ran.code, ran.out) == (2, "")
    first, shown, mark = ran.err.splitlines()
    assert first.startswith("gramian: kernel='rbf + rfb(sigma=1)', column 7: kernel 'rfb' is not known.")
    assert shown[mark.index("^") :].startswith("rfb")


def test_nothing_asked_shows_the_help(gramian):
    ran = gramian()
    assert ran.code == 2
    assert "Usage: gramian" in ran.out


def test_warnings_are_a_line(folder, gramian):
    (folder / "flat.csv").write_text("a,b,c\n" + "".join(f"{i},{2 * i},{3 * i}\n" for i in range(9)))
    ran = gramian.works("fit flat.csv --n-components 3 -o m.gramian")
    assert "gramian: warning: n_components=3 but the data has rank 1" in ran.err
    assert ".py" not in ran.err


def test_a_defect_keeps_its_traceback(folder, gramian, monkeypatch):
    monkeypatch.setattr(fitting, "estimator_class", Mock(side_effect=RuntimeError("a defect")))
    with pytest.raises(RuntimeError, match="a defect"):
        gramian("fit flowers.csv -o r")


def test_standard_input_and_output(folder, flower_model, monkeypatch):
    streams = [io.TextIOWrapper(io.BytesIO(given)) for given in ((folder / "flowers.csv").read_bytes(), b"")]
    for name, made in zip(("stdin", "stdout"), streams, strict=True):
        monkeypatch.setattr(sys, name, made)
    assert main(["transform", "m.gramian", "-", "--label", "species", "-o", "-"]) == 0
    mapped = written(streams[1])
    assert mapped.startswith(b"name,species,PC1,PC2,PC3\n")
    assert mapped.count(b"\n") == 31


@pytest.mark.skipif(os.name == "nt", reason="pipes of POSIX")
def test_a_reader_that_goes_away_is_a_code(flower_model, capsys, monkeypatch):
    end, start = os.pipe()
    os.close(end)
    with open(start, "w") as gone:
        monkeypatch.setattr(sys, "stdout", gone)
        assert main(["transform", "m.gramian", "flowers.csv", "--label", "species"]) == 1
        print("leads nowhere now")
    assert capsys.readouterr().err.count("gramian: ") == 1  # the note of the reader


@pytest.mark.walk
@pytest.mark.skipif(os.name == "nt", reason="pipes of POSIX")
def test_a_reader_that_goes_away_is_no_error(flower_model):
    arguments = "transform m.gramian flowers.csv --label species"
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
    with subprocess.Popen([*GRAMIAN, *arguments], env=BUFFERED, **pipes) as process:
        process.stdout.close()
        errors = process.stderr.read()
        process.wait(timeout=60)
    assert b"Traceback" not in errors
    assert b"Exception ignored" not in errors


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is always full")
@pytest.mark.parametrize("arguments", [["--help"], ["kernels"]])
def test_a_full_output_is_a_line(arguments):
    with open("/dev/full", "w") as full:
        ran = subprocess.run(
            [*GRAMIAN, *arguments], stdout=full, stderr=subprocess.PIPE, env=BUFFERED, timeout=120
        )
    assert ran.returncode == 1
    assert ran.stderr.decode().startswith("gramian: standard output was not written: No space left")
    assert len(ran.stderr.splitlines()) == 1


def test_the_package_is_the_command():
    ran = subprocess.run([sys.executable, "-m", "gramian", "--version"], capture_output=True, timeout=120)
    assert (ran.returncode, ran.stdout.split()[0]) == (0, b"gramian")


@pytest.mark.skipif(os.name == "nt", reason="a shell of POSIX")
@pytest.mark.parametrize(("arguments", "code"), [("--version", 0), ("info no.gramian", 1)])
def test_closed_streams_change_no_code(folder, arguments, code):
    ran = subprocess.run(
        f'"{sys.executable}" -m gramian {arguments} >&- 2>&-', shell=True, capture_output=True, timeout=120
    )
    assert (ran.returncode, ran.stdout, ran.stderr) == (code, b"", b"")


def test_names_that_are_too_long_are_a_line(folder, gramian):
    name = 300 * "x"
    for arguments in (
        f"fit {name} -o m.gramian",
        f"fit flowers.csv -o {name}.gramian",
        f"fit flowers.csv -o {name}/",
        f"info {name}",
        f"whiten faces.npz -o {name}.csv",
        f"demo -o {name}",
    ):
        ran = gramian(arguments)
        assert (ran.code, ran.out) == (1, "")
        assert "too long" in ran.err
        assert len(ran.err.splitlines()) == 1


def test_what_the_system_refuses_is_a_line(folder, gramian, monkeypatch):
    for error, said in (
        (
            PermissionError(errno.EACCES, "Permission denied", "a/b.csv"),
            "a/b.csv cannot be used: Permission denied. Check its name and permissions.",
        ),
        (
            OSError(errno.ENOSPC, "No space left on device", "r"),
            "r was not written: No space left on device. Free some space.",
        ),
    ):
        monkeypatch.setattr(fitting, "estimator_class", Mock(side_effect=error))
        gramian.refuses("fit flowers.csv -o r", 1, f"gramian: {said}\n")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is always full")
def test_messages_that_nobody_reads_change_no_code(folder):
    with open("/dev/full", "w") as full:
        ran = subprocess.run(
            [*GRAMIAN, "info", "no.gramian"], stdout=subprocess.PIPE, stderr=full, env=BUFFERED, timeout=120
        )
    assert (ran.returncode, ran.stdout) == (1, b"")


@pytest.mark.skipif(os.name == "nt", reason="signals of POSIX")
def test_ctrl_c_unwinds_what_is_half_written(folder, gramian, monkeypatch):
    read = "flowers.csv --label species"

    def half(file, pieces, rows):
        file.write(b"half")
        signal.raise_signal(signal.SIGINT)

    gramian.works(f"fit {read} -o old")
    before = {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}
    monkeypatch.setitem(tables._WRITERS, "csv", half)
    earlier = signal.signal(signal.SIGINT, signal.default_int_handler)  # a shell's "&" has it ignored
    try:
        for out in ("r", "old"):
            ran = gramian(f"fit {read} -o {out}")
            last = "gramian: interrupted; no file was left half-written."
            assert (ran.code, ran.err.splitlines()[-1]) == (130, last)
            assert {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()} == before
            assert not (folder / "r").exists()
    finally:
        signal.signal(signal.SIGINT, earlier)


NAME = "Zo\u00eb \U0001f600 \udcff"


def stream(encoding):
    return io.TextIOWrapper(io.BytesIO(), encoding=encoding, errors="strict")


def written(made):
    made.flush()
    return made.buffer.getvalue()


def test_every_text_can_be_printed(monkeypatch):
    for encoding, expected in [
        ("ascii", rb"Zo\xeb \U0001f600 \udcff"),
        ("latin-1", b"Zo\xeb " + rb"\U0001f600 \udcff"),
        ("utf-8", "Zo\u00eb \U0001f600 ".encode() + rb"\udcff"),
    ]:
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
