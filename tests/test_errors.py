"""Every error belongs to one family and is also the built-in that handlers expect."""

import copy
import pickle

import pytest

from gramian import errors

BUILT_IN = {
    errors.DataError: ValueError,
    errors.InputTypeError: TypeError,
    errors.ParameterError: ValueError,
    errors.FileError: OSError,
    errors.ModelFileError: ValueError,
    errors.MemoryLimitError: (ValueError, MemoryError),
    errors.IndefiniteKernelError: (ValueError, errors.DataError),
    errors.MissingExtraError: ImportError,
}
WARNINGS = (errors.RankWarning, errors.CertificateWarning, errors.CostWarning, errors.PreimageWarning)


def test_the_list_is_complete():
    named = {*BUILT_IN, *WARNINGS, errors.GramianError}
    assert {getattr(errors, name) for name in errors.__all__} == named


@pytest.mark.parametrize("kind", BUILT_IN, ids=lambda kind: kind.__name__)
def test_each_error_is_of_the_family_and_a_built_in(kind):
    assert issubclass(kind, errors.GramianError)
    for expected in [BUILT_IN[kind]] if isinstance(BUILT_IN[kind], type) else BUILT_IN[kind]:
        assert issubclass(kind, expected)


@pytest.mark.parametrize("kind", WARNINGS, ids=lambda kind: kind.__name__)
def test_warnings_are_user_warnings(kind):
    assert issubclass(kind, UserWarning)


def test_a_missing_extra_names_the_install_command():
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
