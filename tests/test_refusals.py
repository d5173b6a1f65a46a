import errno

import pytest

from gramian.errors import FileError
from gramian.refusals import not_written, reason, shortened


def refused(number, text="as the system says it"):
    return OSError(number, text)


@pytest.mark.parametrize(
    ("number", "words"),
    [
        (errno.ENAMETOOLONG, "the name is too long (most disks allow 255 bytes for each part of it)"),
        (errno.ELOOP, "its links go in a circle"),
        (errno.EFBIG, "the file would be larger than this process may write, or than the disk can hold"),
        (errno.EACCES, "as the system says it"),
    ],
)
def test_reasons_are_plain_words(number, words):
    assert reason(refused(number)) == words


def test_an_error_of_python_has_only_its_text():
    assert reason(OSError("nothing of the system's")) == "nothing of the system's"


def test_a_long_path_is_cut_in_messages():
    assert shortened("a/b.csv") == "a/b.csv"
    assert shortened(300 * "x") == 117 * "x" + "..."


def test_what_to_do_where_there_is_no_room():
    full, large = (not_written("a.csv", refused(number)) for number in (errno.ENOSPC, errno.EFBIG))
    assert isinstance(full, FileError)
    assert str(full) == "a.csv was not written: as the system says it. Free some space."
    assert str(large).endswith("Raise the limit (ulimit -f), or write to another place.")
