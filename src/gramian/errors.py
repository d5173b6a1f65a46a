"""What can go wrong and what to do about it.

Every error is a :class:`GramianError` and also the built-in exception that existing handlers expect.
A message says what was received, what is allowed and what to do next.
"""

import errno
import os
import warnings
from collections.abc import Iterator
from contextlib import contextmanager

from gramian.wording import Surface, worded

__all__ = [
    "CertificateWarning",
    "CostWarning",
    "DataError",
    "FewRowsWarning",
    "FileError",
    "GramianError",
    "IndefiniteKernelError",
    "IndefiniteKernelWarning",
    "InputTypeError",
    "MemoryLimitError",
    "MissingExtraError",
    "MissingValuesError",
    "MissingValuesWarning",
    "ModelFileError",
    "ParameterError",
    "PreimageWarning",
    "RankWarning",
    "UnavailableError",
]


class GramianError(Exception):
    """Base of everything that gramian raises on purpose.

    Parameters
    ----------
    *message
        The text in the terms of Python, as of other exceptions.
    shell, page : str, optional
        The text for the command line and for a page, where :func:`gramian.wording.worded` cannot make it of
        the other.
    """

    def __init__(self, *message: object, shell: str | None = None, page: str | None = None) -> None:
        super().__init__(*message)
        self._worded: dict[Surface, str | None] = {"shell": shell, "page": page}

    def worded(self, surface: Surface) -> str:
        """Return the message in the terms of the command line or of a page.

        Parameters
        ----------
        surface : {"shell", "page"}
            Where the message is shown.

        Returns
        -------
        str
            The message.
        """
        return self._worded[surface] or worded(str(self), surface)


class DataError(GramianError, ValueError):
    """The data cannot be used: NaN, one row, text, complex numbers, pictures of different sizes."""


class MissingValuesError(DataError):
    """NaN where every entry is needed; the message gives the choices in the terms of its reader.

    Parameters
    ----------
    where : str
        How many values are missing, and where, as a sentence.
    fitted : bool
        Whether these are new rows of a fitted model.

    Attributes
    ----------
    there : str
        The same without a name for the data.
    """

    def __init__(self, where: str, fitted: bool = False) -> None:
        self.where, self.fitted = where, fitted
        there = where.removeprefix("Input X contains NaN: ")
        self.there = there = there if there[:1].isdigit() else f"A value is missing: {there}"
        if fitted:
            only, rest = "The model maps complete rows only.", "maps them from their observed entries."
            super().__init__(
                f"{where} {only} Leave such rows out, or fill them first. A PCA that was fitted with "
                f'missing="em" or "projection" {rest}',
                shell=f"{there} {only} Leave such rows out with --missing drop-rows, or fit a PCA with "
                f"--missing em, which {rest}",
                page=f"{there} {only} Leave such rows out, or fit a PCA that imputes them, which {rest}",
            )
            return
        super().__init__(
            f'{where} Use missing="em" or "iterative", by which PCA imputes them, or "mean"; gramian.scan '
            'also takes "drop-rows" and "drop-columns". For other methods fill them first: '
            'PCA(k, missing="em").fit(X).impute(X).',
            shell=f"{there} Choose one: --missing em or iterative (PCA imputes them), mean, drop-rows or "
            "drop-columns.",
            page=f"{there} Choose what to do with missing values: impute, fill with means, or drop.",
        )

    def __reduce__(self) -> tuple[type["MissingValuesError"], tuple[str, bool]]:
        return type(self), (self.where, self.fitted)


@contextmanager
def of_new_rows() -> Iterator[None]:
    """Say of missing values what a user of a fitted model can do about them."""
    try:
        yield
    except MissingValuesError as error:
        raise MissingValuesError(error.where, fitted=True) from None


class InputTypeError(GramianError, TypeError):
    """An argument is of a kind that is not accepted, such as a bare string for a file."""


class ParameterError(GramianError, ValueError):
    """A parameter is outside what it may be, alone or together with another one."""


class UnavailableError(ParameterError, AttributeError):
    """A method that the parameters chosen do not offer; ``hasattr`` says that it is not there."""


class FileError(GramianError, OSError):
    """A file cannot be read or written: missing, empty, truncated, of an unknown kind."""


class ModelFileError(FileError, ValueError):
    """A model file is truncated, altered, foreign, or written by a newer gramian."""


class MemoryLimitError(GramianError, ValueError, MemoryError):
    """No route fits into ``memory_limit``."""


class IndefiniteKernelError(DataError):
    """A Gram matrix has an eigenvalue that is negative beyond rounding, so it belongs to no kernel."""


class MissingExtraError(GramianError, ImportError):
    """An optional dependency is not installed; the message is the install command.

    Parameters
    ----------
    extra : str
        Name of gramian's extra, for instance ``"images"``.
    package : str
        The package that could not be imported.
    purpose : str
        What it is needed for, completing "... needs pillow".
    """

    def __init__(self, extra: str, package: str, purpose: str) -> None:
        self.extra, self.package, self.purpose = extra, package, purpose
        super().__init__(
            f"{purpose} needs {package}, which is not installed. "
            f'Install it with: pip install "gramian[{extra}]"'
        )

    def __reduce__(self) -> tuple[type["MissingExtraError"], tuple[str, str, str]]:
        return type(self), (self.extra, self.package, self.purpose)


@contextmanager
def needs(extra: str, package: str, purpose: str) -> Iterator[None]:
    """Say which extra brings the package that is imported inside, where it is not installed."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise MissingExtraError(extra, package, purpose) from error


class RankWarning(UserWarning):
    """Components carry no variance: the data has fewer, an offset hides them, or a rule found none."""


class CertificateWarning(UserWarning):
    """The result did not reach the tolerance that was asked for; ``certificate_`` says by how much."""


class CostWarning(UserWarning):
    """The exact route is predicted to take more than ten minutes."""


class FewRowsWarning(UserWarning):
    """A limit rests on so few rows that it may be far from what was asked for."""


class IndefiniteKernelWarning(UserWarning):
    """The kernel matrix has a negative eigenvalue outside the requested components."""


class MissingValuesWarning(UserWarning):
    """Observed entries do not determine the scores of a row, or an imputation did not converge."""


@contextmanager
def ignoring(*categories: type[Warning]) -> Iterator[None]:
    """Ignore warnings of some categories inside."""
    with warnings.catch_warnings():
        for category in categories:
            warnings.simplefilter("ignore", category)
        yield


class PreimageWarning(UserWarning):
    """A search for pre-images did not converge for some rows; the best rows found are returned."""


# ------------------------------------------- why the system refused a file

# Of a disk, of a user's share of one, of a device, of what a process may write.
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)
REASONS = {
    errno.ENAMETOOLONG: "the name is too long (most disks allow 255 bytes for each part of it)",
    errno.ELOOP: "its links go in a circle",
    errno.EFBIG: "the file would be larger than this process may write, or than the disk can hold",
}
LONGEST = 120


def reason(error: OSError) -> str:
    """Return why the system refused a file.

    Examples
    --------
    >>> reason(OSError(errno.ELOOP, "Too many levels of symbolic links"))
    'its links go in a circle'
    """
    return REASONS.get(error.errno or 0) or error.strerror or str(error)


def shortened(path: str | os.PathLike[str], longest: int = LONGEST) -> str:
    """Return a path for a message, which nobody would read after a name of hundreds of letters.

    Examples
    --------
    >>> shortened("a.csv"), shortened(300 * "x")[:3], len(shortened(300 * "x"))
    ('a.csv', 'xxx', 120)
    """
    text = os.fspath(path)
    return text if len(text) <= longest else f"{text[: longest - 3]}..."


def not_written(path: str | os.PathLike[str], error: OSError) -> FileError:
    """Return what to say of a file that there is no room for, by an error of ``FULL``."""
    advice = (
        "Raise the limit (ulimit -f), or write to another place."
        if error.errno == errno.EFBIG
        else "Free some space."
    )
    return FileError(f"{shortened(path)} was not written: {reason(error)}. {advice}")
