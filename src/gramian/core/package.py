"""What is written down once about the package: its version, and how models that draw find its figures."""

from collections.abc import Callable
from typing import Any

# Packaging and saved models read it from here.
__version__ = "0.2.0"

figures: Callable[[], Any]  # returns the package of figures, which models do not import; `gramian` sets it
