"""What can go wrong and what to do about it.

Every error is a :class:`GramianError` and also the built-in exception that existing handlers expect.
A message says what was received, what is allowed and what to do next, in one text for Python, the shell and
the page: a parameter has the same name everywhere.
"""

import copyreg
import difflib
import errno
import os
import sys
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any

ABSENT: Any = object()
_ignored: ContextVar[tuple[type[Warning], ...]] = ContextVar("_ignored", default=())


class GramianError(Exception):
    """Base of everything that gramian raises on purpose.

    Parameters
    ----------
    problem : str
        What came, and why it cannot be used.
    hint : str, optional
        What to do.

    Examples
    --------
    >>> import gramian
    >>> try:
    ...     gramian.PCA(3).fit([[1.0, 2.0], [3.0, 4.0]])
    ... except gramian.errors.GramianError as error:
    ...     print(type(error).__name__, error.hint, sep=": ")
    ...
    ParameterError: Ask for at most 2, or a fraction such as 0.95.
    """

    def __init__(self, problem: str = "", hint: str = "") -> None:
        super().__init__(f"{problem} {hint}" if hint else problem)
        self.hint = hint

    def __reduce__(self) -> tuple[Any, ...]:
        # For pickle and copy: the arguments of __init__ are not those of the exception.
        return copyreg.__newobj__, (type(self), *self.args), vars(self)  # type: ignore[attr-defined]


class DataError(GramianError, ValueError):
    """The data cannot be used: NaN, one row, text, complex numbers, pictures of different sizes.

    Examples
    --------
    >>> import gramian
    >>> gramian.PCA().fit([["a", "b"], ["c", "d"]])
    Traceback (most recent call last):
        ...
    gramian.errors.DataError: could not convert string to float: 'a'. Text is not data: drop or encode ...
    """


class MissingValuesError(DataError):
    """NaN where every entry is needed; the message gives the choices in the terms of its reader.

    Parameters
    ----------
    where : str
        How many values are missing, and where, as a sentence.
    hint : str, optional
        What to do, in place of the choices.
    **choices : str or bool
        What decides which choices there are: ``empty`` names columns without any value, and ``others`` says
        whether values are missing in other columns too. ``rows`` and ``columns`` say whether some are
        complete, so that others can be left out, and ``imputes`` whether a PCA imputes what is missing.

    Examples
    --------
    >>> import gramian
    >>> gramian.PCA().fit([[1.0, float("nan")], [2.0, 3.0]])
    Traceback (most recent call last):
        ...
    gramian.errors.MissingValuesError: Input X contains NaN: row 0, column 1. Use missing="em" or ...
    """

    def __init__(self, where: str, hint: str = "", **choices: Any) -> None:
        super().__init__(where, hint or _ways_to_fill(**choices))
        self.parameter, self.where, self.choices = "missing", where, choices


def _ways_to_fill(
    empty: str = "", others: bool = True, rows: bool = True, columns: bool = True, imputes: bool = True
) -> str:
    drops = " or ".join(['"drop-rows"'] * rows + ['"drop-columns"'] * columns)
    read = f"; a file is also read with missing={drops}" if drops else ""
    imputing = '"em" or "iterative", by which PCA imputes them, or ' if imputes else ""
    choices = (
        f'Use missing={imputing}"mean"{read}. For other methods fill them first: '
        'PCA(k, missing="em").fit(X).impute(X).'
    )
    leave_out = f"Leave out what has no value at all, since no method can fill it: {empty}"
    grid = ". gramian.connect.xarray.pca takes such cells of a grid as a mask."
    return " ".join([f"{leave_out}{grid}"] * bool(empty) + [choices] * (others or not empty))


@contextmanager
def of_new_rows() -> Iterator[None]:
    """Say of missing values what a user of a fitted model can do about them."""
    try:
        yield
    except MissingValuesError as error:
        raise MissingValuesError(
            error.where,
            'The model maps complete rows only. Leave such rows out, of a file by missing="drop-rows", or '
            'fill them first. A PCA that was fitted with missing="em" or "projection" maps them from their '
            "observed entries.",
        ) from None


class InputTypeError(GramianError, TypeError):
    """An argument is of a kind that is not accepted, such as a bare string for a file.

    Examples
    --------
    >>> import gramian
    >>> gramian.PCA().fit("table.csv")
    Traceback (most recent call last):
        ...
    gramian.errors.InputTypeError: X is the text 'table.csv'. To read a file, write ...
    """


class ParameterError(GramianError, ValueError):
    """A parameter is outside what it may be, alone or together with another one.

    Parameters
    ----------
    parameter : str
        Its name in Python.
    value : object, optional
        What was given.
    allowed : str or sequence of str
        What the value does wrong, as the predicate of a sentence without its full stop, such as ``"must be
        positive"``; or the choices.
    hint : str, optional
        What to do, in sentences.
    problem : str, optional
        What came and why it cannot be used, as a sentence that begins with something else than the parameter.

    Examples
    --------
    >>> print(ParameterError("scale", "unti", ("unit", "pareto")))
    scale='unti' is not known. Allowed: 'unit', 'pareto'. Did you mean 'unit'?
    """

    def __init__(
        self,
        parameter: str,
        value: object = ABSENT,
        allowed: str | Sequence[str] = "",
        hint: str = "",
        *,
        problem: str = "",
    ) -> None:
        predicate = allowed if isinstance(allowed, str) else f"is not known. {allowed_of(value, allowed)}"
        whole = predicate.endswith((".", "?"))
        space = "" if predicate.startswith((":", ",")) else " "
        came = f"{parameter} {value}" if parameter.startswith("-") else f"{parameter}={value!r}"
        came = parameter if value is ABSENT else came
        super().__init__(problem or f"{came}{space}{predicate}{'' if whole else '.'}", hint)
        self.parameter, self.value, self.allowed = parameter, None if value is ABSENT else value, allowed


# What a choice does, and what other programs call it.
MEANT = {
    "unit": (
        "divides each column by its standard deviation",
        "true yes standard standardize std zscore z-score cor",
    ),
    "mean": ("fills with the mean of the column", "median average mean-fill mode"),
    "em": ("imputes by a PCA", "knn impute mice pca fill"),
    "drop-rows": ("leaves out rows with missing values", "omit na.omit drop dropna delete listwise ignore"),
}


def allowed_of(value: Any, allowed: Sequence[str]) -> str:
    """List what is allowed in place of ``value``, and ask whether the most similar of them is meant."""
    word = str(value).casefold()
    meant = [choice for choice in MEANT if choice in allowed and word in MEANT[choice][1].split()]
    near = meant or difflib.get_close_matches(str(value), allowed, n=1)
    why = f", which {MEANT[meant[0]][0]}" if meant else ""
    hint = f" Did you mean {near[0]!r}{why}?" if near else ""
    return f"Allowed: {', '.join(map(repr, allowed))}.{hint}"


class UnavailableError(ParameterError, AttributeError):
    """A method that the parameters chosen do not offer; ``hasattr`` says that it is not there.

    Examples
    --------
    >>> import gramian
    >>> hasattr(gramian.KernelPCA(solver="nystroem"), "partial_fit")
    True
    >>> hasattr(gramian.KernelPCA(), "partial_fit")
    False
    """


class FileError(GramianError, OSError):
    """A file cannot be read or written: missing, empty, truncated, of an unknown kind.

    Examples
    --------
    >>> import gramian
    >>> gramian.scan("absent.csv")
    Traceback (most recent call last):
        ...
    gramian.errors.FileError: absent.csv: there is no such file or folder. ...
    """


class ModelFileError(FileError, ValueError):
    """A model file is truncated, altered, foreign, or written by a newer gramian.

    Examples
    --------
    >>> import gramian
    >>> gramian.load(gramian.__file__)
    Traceback (most recent call last):
        ...
    gramian.errors.ModelFileError: ...gramian/__init__.py is of another kind, not a model or gallery ...
    """


class MemoryLimitError(GramianError, ValueError, MemoryError):
    """No route fits into ``memory_limit``.

    Examples
    --------
    >>> import numpy as np
    >>> import gramian
    >>> gramian.PCA(2, memory_limit="1kB").fit(np.eye(1000))
    Traceback (most recent call last):
        ...
    gramian.errors.MemoryLimitError: The ... route needs about ... of working memory, and ...
    """


class IndefiniteKernelError(DataError):
    """A Gram matrix has an eigenvalue that is negative beyond rounding, so it belongs to no kernel.

    Examples
    --------
    >>> import gramian
    >>> gramian.KernelPCA(1, kernel="precomputed").fit([[0.0, 1.0], [1.0, 0.0]])
    Traceback (most recent call last):
        ...
    gramian.errors.IndefiniteKernelError: The Gram matrix has the eigenvalue -1, negative beyond ...
    """


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

    Examples
    --------
    >>> import gramian
    >>> print(gramian.errors.MissingExtraError("images", "pillow", "Reading pictures"))
    Reading pictures needs pillow, which is not installed. Install it with: pip install "gramian[images]"
    """

    def __init__(self, extra: str, package: str, purpose: str) -> None:
        super().__init__(
            f"{purpose} needs {package}, which is not installed.",
            f'Install it with: pip install "gramian[{extra}]"',
        )
        self.extra, self.package, self.purpose = extra, package, purpose


@contextmanager
def needs(extra: str, package: str, purpose: str) -> Iterator[None]:
    """Say which extra brings the package that is imported inside, where it is not installed."""
    try:
        yield
    except ModuleNotFoundError as error:
        raise MissingExtraError(extra, package, purpose) from error


class GramianWarning(UserWarning):
    """Base of all warnings."""

    def warn(self) -> None:
        """Warn at the line of the caller's own code, however many frames of libraries are between."""
        if isinstance(self, _ignored.get()):
            return
        frame, level = sys._getframe(), 1
        while frame.f_back and frame.f_globals.get("__name__", "").startswith(("gramian.", "sklearn.")):
            frame, level = frame.f_back, level + 1
        warnings.warn(self, stacklevel=level)


class RankWarning(GramianWarning):
    """Components carry no variance: the data has fewer, an offset hides them, or a rule found none.

    Examples
    --------
    >>> import warnings
    >>> import gramian
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", gramian.errors.RankWarning)
    ...     pca = gramian.PCA(2).fit([[1, 1], [2, 2], [3, 3]])
    ...
    >>> pca.rank_
    1
    """


class CertificateWarning(GramianWarning):
    """The result did not reach the tolerance that was asked for; ``certificate_`` says by how much.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> import gramian
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", gramian.errors.CertificateWarning)
    ...     pca = gramian.PCA(2, tol=1e-17).fit(np.diag([3.0, 2.0, 1.0]))
    ...
    >>> pca.certificate_.ok
    False
    """


class CostWarning(GramianWarning):
    """The exact route is predicted to take more than ten minutes.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> import gramian
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", gramian.errors.CostWarning)
    ...     model = gramian.KernelPCA(2).fit(np.eye(10))  # stops before a long fit
    ...
    >>> model.n_components_
    2
    """


class DiagnosticWarning(GramianWarning):
    """The answer of a fit misleads, by what the fit itself knows; :func:`gramian.diagnose` tells more.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> import gramian
    >>> X = np.random.default_rng(0).normal(size=(30, 4))
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", gramian.errors.DiagnosticWarning)
    ...     pca = gramian.PCA(2).fit(X * [1, 1, 1, 1e6])
    ...
    >>> pca.explained_variance_ratio_.round(2).tolist()
    [1.0, 0.0]
    """


class FewRowsWarning(GramianWarning):
    """A limit rests on so few rows that it may be far from what was asked for.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> import gramian
    >>> X = np.random.default_rng(0).normal(size=(30, 4))
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", gramian.errors.FewRowsWarning)
    ...     monitor = gramian.Monitor(gramian.PCA(3)).fit(X[:14])
    ...
    >>> monitor.predict(X[:1] + 100)
    array([-1])
    """


class IndefiniteKernelWarning(GramianWarning):
    """The kernel matrix has a negative eigenvalue outside the requested components.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> import gramian
    >>> X = np.random.default_rng(0).normal(size=(30, 4))
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", gramian.errors.IndefiniteKernelWarning)
    ...     model = gramian.KernelPCA(1, kernel="sigmoid").fit(X)
    ...
    >>> bool(model.eigenvalues_[0] > 0)
    True
    """


class MissingValuesWarning(GramianWarning):
    """Observed entries do not determine the scores of a row, or an imputation did not converge.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> import gramian
    >>> X = np.random.default_rng(0).normal(size=(30, 4))
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore", gramian.errors.MissingValuesWarning)
    ...     pca = gramian.PCA(2, missing="projection").fit(X)
    ...     scores = pca.transform([[np.nan, np.nan, np.nan, 1.0]])
    ...
    >>> scores
    array([[nan, nan]])
    """


@contextmanager
def ignoring(*categories: type[GramianWarning]) -> Iterator[None]:
    """Ignore our warnings of some categories inside, in this thread: Python's filters are of all threads."""
    token = _ignored.set((*_ignored.get(), *categories))
    try:
        yield
    finally:
        _ignored.reset(token)


class PreimageWarning(GramianWarning):
    """A search for pre-images did not converge for some rows; the best rows found are returned.

    Examples
    --------
    >>> import warnings
    >>> import numpy as np
    >>> import gramian
    >>> X = np.random.default_rng(0).normal(size=(30, 4))
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("error", gramian.errors.PreimageWarning)
    ...     model = gramian.KernelPCA(2, gamma=0.1).fit(X)
    ...     rows = model.denoise(X[:3])  # raises where a search does not converge
    ...
    >>> rows.shape
    (3, 4)
    """


_PUBLIC = [kind for kind in globals().values() if isinstance(kind, type) and kind is not GramianWarning]
__all__ = sorted(kind.__name__ for kind in _PUBLIC if issubclass(kind, GramianError | GramianWarning))


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
