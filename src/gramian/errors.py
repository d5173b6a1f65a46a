"""What can go wrong and what to do about it.

Every error is a :class:`GramianError` and also the built-in exception that existing handlers expect.
A message says what was received, what is allowed and what to do next.
"""

__all__ = [
    "CertificateWarning",
    "CostWarning",
    "DataError",
    "FileError",
    "GramianError",
    "IndefiniteKernelError",
    "InputTypeError",
    "MemoryLimitError",
    "MissingExtraError",
    "ModelFileError",
    "ParameterError",
    "PreimageWarning",
    "RankWarning",
]


class GramianError(Exception):
    """Base of everything that gramian raises on purpose."""


class DataError(GramianError, ValueError):
    """The data cannot be used: NaN, one row, text, complex numbers, pictures of different sizes."""


class InputTypeError(GramianError, TypeError):
    """An argument is of a kind that is not accepted, such as a bare string for a file."""


class ParameterError(GramianError, ValueError):
    """A parameter is outside what it may be, alone or together with another one."""


class FileError(GramianError, OSError):
    """A file cannot be read or written: missing, empty, truncated, of an unknown kind."""


class ModelFileError(GramianError, ValueError):
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


class RankWarning(UserWarning):
    """More components are kept than the data has: the extra ones carry no variance, or a rule found none."""


class CertificateWarning(UserWarning):
    """The result did not reach the tolerance that was asked for; ``certificate_`` says by how much."""


class CostWarning(UserWarning):
    """The exact route is predicted to take more than ten minutes."""


class PreimageWarning(UserWarning):
    """A search for pre-images did not converge for some rows; the best rows found are returned."""
