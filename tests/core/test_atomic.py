import errno
import os
import signal
import socket
import stat
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from gramian.core import atomic
from gramian.core.atomic import as_path, atomic_write
from gramian.errors import FileError, InputTypeError, ParameterError

needs_posix = pytest.mark.skipif(os.name != "posix", reason="about POSIX permissions and signals")
needs_user = pytest.mark.skipif(
    os.name != "posix" or os.geteuid() == 0, reason="the superuser may write everywhere"
)


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def write_half(target: Path, stop: type[BaseException]) -> None:
    with atomic_write(target) as file:
        file.write(b"half")
        file.flush()
        raise stop("midway")


def test_a_file_appears_complete_under_its_name_only(tmp_path):
    with atomic_write(tmp_path / "out.csv") as file:
        file.write(b"PC1,PC2\n")
        assert not (tmp_path / "out.csv").exists()
    assert (tmp_path / "out.csv").read_bytes() == b"PC1,PC2\n"
    assert names(tmp_path) == ["out.csv"]
    target = tmp_path / ("x" * 251 + ".csv")
    with atomic_write(target) as file:
        file.write(b"all")
    assert target.read_bytes() == b"all"


@pytest.mark.parametrize("stop", [ValueError, KeyboardInterrupt, SystemExit, GeneratorExit])
@pytest.mark.parametrize("before", [None, b"old"])
def test_an_exception_leaves_everything_as_it_was(tmp_path, stop, before):
    target = tmp_path / "out.csv"
    if before is not None:
        target.write_bytes(before)
    with pytest.raises(stop, match="midway"):
        write_half(target, stop)
    assert names(tmp_path) == ([] if before is None else ["out.csv"])
    assert before is None or target.read_bytes() == before


def test_a_failing_rename_leaves_everything_as_it_was(tmp_path, monkeypatch):
    target = tmp_path / "out.csv"
    target.write_bytes(b"old")

    def refuse(*_):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(os, "replace", refuse)
    with pytest.raises(FileError, match="cannot be written: Permission denied"), atomic_write(target) as file:
        file.write(b"new")
    assert target.read_bytes() == b"old"
    assert names(tmp_path) == ["out.csv"]


@pytest.mark.parametrize(
    ("number", "message"),
    [
        (errno.ENOSPC, r"was not written: No space left on device\. Free"),
        (errno.EFBIG, "larger than this process may write"),
    ],
    ids=["full disk", "too large"],
)
def test_what_the_system_refuses_is_said_and_leaves_nothing(number, message, tmp_path):
    with pytest.raises(FileError, match=message), atomic_write(tmp_path / "out.csv"):
        raise OSError(number, os.strerror(number))
    assert names(tmp_path) == []


NO_PLACES = {
    "a name that is too long": (300 * "x", r"the name is too long .*Choose another name for it"),
    "the name of a folder": ("out.csv/", "names a folder"),
    "a folder": ("", r"is a folder\. Name a file in it"),
    "in a folder that is missing": ("missing/out.csv", "there is no folder"),
    "in a file": ("plain/out.csv", "cannot be written: Not a directory"),
}


@pytest.mark.parametrize("place", NO_PLACES)
def test_where_no_file_can_be_is_refused_before_the_block(place, tmp_path):
    name, message = NO_PLACES[place]
    (tmp_path / "plain").write_bytes(b"")
    with pytest.raises(FileError, match=message), atomic_write(f"{tmp_path}/{name}" if name else tmp_path):
        pytest.fail("the block must not run")
    assert names(tmp_path) == ["plain"]


@needs_posix
def test_a_new_file_may_be_for_its_owner_only(tmp_path):
    target = tmp_path / "out.csv"
    for expected in (0o600, 0o640):
        with atomic_write(target, mode=0o600) as file:
            file.write(b"all")
        assert stat.S_IMODE(target.stat().st_mode) == expected
        target.chmod(0o640)


def test_a_writer_may_close_the_file_and_have_errors_of_its_own(tmp_path):
    with pytest.raises(BrokenPipeError, match="pipe"), atomic_write(tmp_path / "out.csv"):
        raise BrokenPipeError(errno.EPIPE, "pipe")
    with atomic_write(tmp_path / "out.csv") as file:
        file.write(b"all")
        file.close()
    assert (tmp_path / "out.csv").read_bytes() == b"all"


def test_a_write_protected_file_is_refused(tmp_path, monkeypatch):
    target = tmp_path / "out.csv"
    target.write_bytes(b"old")
    monkeypatch.setattr(os, "access", lambda *_: False)
    with (
        pytest.raises(FileError, match=r"is write-protected\. Choose another name or lift the"),
        atomic_write(target),
    ):
        pytest.fail("the block must not run")
    assert target.read_bytes() == b"old"


@needs_user
def test_a_write_protected_folder_is_refused(tmp_path):
    tmp_path.chmod(0o500)
    with (
        pytest.raises(FileError, match="cannot be written: Permission denied"),
        atomic_write(tmp_path / "out.csv"),
    ):
        pytest.fail("the block must not run")


@needs_posix
def test_permissions_are_those_of_the_old_file_or_the_usual_ones(tmp_path):
    (tmp_path / "usual").write_bytes(b"")
    (tmp_path / "private").write_bytes(b"")
    (tmp_path / "private").chmod(0o600)
    for name in ("new", "private"):
        with atomic_write(tmp_path / name) as file:
            file.write(b"x")
    mode = {name: stat.S_IMODE((tmp_path / name).stat().st_mode) for name in names(tmp_path)}
    assert mode["new"] == mode["usual"]
    assert mode["private"] == 0o600


@needs_posix
def test_a_link_stays_a_link(tmp_path):
    (tmp_path / "real").write_bytes(b"old")
    (tmp_path / "link").symlink_to("real")
    with atomic_write(tmp_path / "link") as file:
        file.write(b"new")
    assert (tmp_path / "link").is_symlink()
    assert (tmp_path / "real").read_bytes() == b"new"


@needs_posix
def test_a_device_is_written_to_and_stays_a_device():
    with atomic_write(os.devnull) as file:
        file.write(b"gone")
    assert stat.S_ISCHR(os.stat(os.devnull).st_mode)


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="the system has no device that is always full")
@pytest.mark.parametrize("size", [4, 1 << 20])
def test_a_full_device_is_said(size):
    # A few bytes fail when the file is closed, many when they are written.
    with pytest.raises(FileError, match="was not written: No space left"), atomic_write("/dev/full") as file:
        file.write(bytes(size))


@needs_posix
def test_other_errors_of_a_block_that_writes_to_a_device_are_its_own():
    with pytest.raises(OSError, match="of another file"), atomic_write(os.devnull):
        raise OSError(errno.EIO, "of another file")


def write_and_lose_the_reader(target: str | Path, reader: int) -> None:
    with atomic_write(target) as file:
        os.close(reader)
        file.write(b"x")


@pytest.mark.skipif(not os.path.isdir("/dev/fd"), reason="the system has no names for open files")
def test_a_given_pipe_whose_reader_is_gone_is_no_mistake_of_the_file():
    reader, writer = os.pipe()
    try:
        with pytest.raises(BrokenPipeError, match="Broken pipe"):
            write_and_lose_the_reader(f"/dev/fd/{writer}", reader)
    finally:
        os.close(writer)


@needs_posix
def test_a_place_that_cannot_be_opened(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as made:
        made.bind("socket")
        with (
            pytest.raises(FileError, match=r"socket cannot be written: No such device or address\."),
            atomic_write("socket"),
        ):
            pytest.fail("the block must not run")


@needs_posix
def test_a_killed_process_leaves_the_old_file(tmp_path):
    target = tmp_path / "out.csv"
    target.write_bytes(b"old")
    program = (
        "import sys, time\n"
        "from gramian.core.atomic import atomic_write\n"
        "with atomic_write(sys.argv[1]) as file:\n"
        "    file.write(b'half')\n"
        "    file.flush()\n"
        "    print('writing', flush=True)\n"
        "    time.sleep(60)\n"
    )
    with subprocess.Popen([sys.executable, "-c", program, str(target)], stdout=subprocess.PIPE) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == b"writing\n"
        process.send_signal(signal.SIGKILL)
    assert target.read_bytes() == b"old"
    (left,) = tmp_path.glob(".gramian-*.tmp")
    mine = [tmp_path / ".gramian-mine.tmp", tmp_path / "x.gramian-0123456789abcdef.tmp"]
    for file in mine:
        file.touch()
        os.utime(file, (0, 0))
    for age, there in ((0, True), (2 * atomic.DAY, False)):
        os.utime(left, (time.time() - age,) * 2)
        with atomic_write(target) as file:
            assert left.exists() == there
            file.write(b"new")
    assert target.read_bytes() == b"new"
    assert all(file.exists() for file in mine)


@needs_posix
def test_writers_side_by_side_leave_each_other_alone(tmp_path):
    def write(number):
        for turn in range(20):
            with atomic_write(tmp_path / f"{number}") as file:
                file.write(b"%d" % turn)

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(write, range(8)))
    assert sorted(path.name for path in tmp_path.iterdir()) == [str(number) for number in range(8)]


def test_only_paths_are_paths():
    with pytest.raises(InputTypeError, match=r"3 is not a path\. Pass a string or a pathlib\.Path\."):
        as_path(3)
    with pytest.raises(InputTypeError, match=r"is not a path\. Pass a string or a pathlib\.Path\."):
        as_path(b"a")
    with pytest.raises(ParameterError, match=r"contains a null character\. Pass the name without it\."):
        as_path("a\0b")


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="a folder in which no file can be made")
def test_a_folder_that_is_there_is_not_said_to_be_missing():
    with (
        pytest.raises(FileError, match=r"cannot be written: .*\. Choose another place") as raised,
        atomic_write("/proc/x.docx"),
    ):
        pass
    assert "no folder" not in str(raised.value)
