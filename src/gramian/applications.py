"""The applications on top of the core: folders that may be left out. Nothing in the core imports them."""

from importlib.util import find_spec


def is_installed(module: str) -> bool:
    """Return whether the folder of a module of gramian is there, without importing it.

    Examples
    --------
    >>> is_installed("gramian.pca.estimator"), is_installed("gramian.astrology")
    (True, False)
    """
    package, folder, *_ = module.split(".")
    return find_spec(f"{package}.{folder}") is not None
