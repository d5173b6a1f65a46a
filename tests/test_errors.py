"""Every error belongs to one family and is also the built-in that handlers expect."""

import copy
import errno
import pickle
import warnings
from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from gramian import errors
from gramian.errors import FileError, not_written, reason, shortened

BUILT_IN = {
    errors.DataError: ValueError,
    errors.InputTypeError: TypeError,
    errors.ParameterError: ValueError,
    errors.UnavailableError: (errors.ParameterError, AttributeError),
    errors.FileError: OSError,
    errors.ModelFileError: (errors.FileError, ValueError),
    errors.MemoryLimitError: (ValueError, MemoryError),
    errors.IndefiniteKernelError: (ValueError, errors.DataError),
    errors.MissingExtraError: ImportError,
    errors.MissingValuesError: (errors.DataError, ValueError),
}
WARNINGS = (
    errors.RankWarning,
    errors.CertificateWarning,
    errors.CostWarning,
    errors.DiagnosticWarning,
    errors.FewRowsWarning,
    errors.IndefiniteKernelWarning,
    errors.MissingValuesWarning,
    errors.PreimageWarning,
)


def test_all_errors_are_of_the_family_and_a_built_in():
    named = {*BUILT_IN, *WARNINGS, errors.GramianError}
    assert {getattr(errors, name) for name in errors.__all__} == named
    for kind in BUILT_IN:
        assert issubclass(kind, errors.GramianError)
        for expected in [BUILT_IN[kind]] if isinstance(BUILT_IN[kind], type) else BUILT_IN[kind]:
            assert issubclass(kind, expected)
    for kind in WARNINGS:
        assert issubclass(kind, UserWarning)


def test_extras_and_parameters_are_fields_of_errors():
    error = errors.MissingExtraError("images", "pillow", "Reading a picture")
    assert str(error) == (
        "Reading a picture needs pillow, which is not installed. "
        'Install it with: pip install "gramian[images]"'
    )
    for twin in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert str(twin) == str(error)
        assert twin.extra == "images"
    with pytest.raises(ImportError, match="needs pillow"):
        raise error
    error = errors.ParameterError(
        "label", "kind", ("a", "b"), problem="This needs a label.", hint="Give one."
    )
    assert str(error) == "This needs a label. Give one."
    assert (error.parameter, error.value, error.allowed, error.hint) == (
        "label",
        "kind",
        ("a", "b"),
        "Give one.",
    )
    for twin in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert (str(twin), twin.parameter, twin.value) == (str(error), "label", "kind")


def refused(number, text="as the system says it"):
    return OSError(number, text)


def test_reasons_are_plain_words_and_say_what_to_do():
    for number, words in [
        (errno.ENAMETOOLONG, "the name is too long (most disks allow 255 bytes for each part of it)"),
        (errno.ELOOP, "its links go in a circle"),
        (errno.EFBIG, "the file would be larger than this process may write, or than the disk can hold"),
        (errno.EACCES, "as the system says it"),
    ]:
        assert reason(refused(number)) == words
    assert reason(OSError("nothing of the system's")) == "nothing of the system's"
    assert shortened("a/b.csv") == "a/b.csv"
    assert shortened(300 * "x") == 117 * "x" + "..."
    full, large = (not_written("a.csv", refused(number)) for number in (errno.ENOSPC, errno.EFBIG))
    assert isinstance(full, FileError)
    assert str(full) == "a.csv was not written: as the system says it. Free some space."
    assert str(large).endswith("Raise the limit (ulimit -f), or write to another place.")


def test_warnings_are_ignored_in_one_thread():
    before, both = warnings.filters[:], Barrier(2, timeout=10)

    def first():
        with errors.ignoring(errors.RankWarning):
            both.wait()  # the other thread warns meanwhile
            errors.RankWarning("not said").warn()
            both.wait()
        errors.RankWarning("said").warn()

    def second():
        both.wait()
        with pytest.warns(errors.RankWarning, match="of the other"):
            errors.RankWarning("of the other").warn()
        both.wait()

    with ThreadPoolExecutor(1) as pool:
        done = pool.submit(first)
        second()
        with pytest.raises(errors.RankWarning, match=r"^said$"):  # as filters of tests have it
            done.result()
    assert warnings.filters == before
