"""Where the methods that draw a fitted model find their figures.

Models do not import figures. The package ``gramian`` knows both: it says here how figures are loaded, which
happens when the first one is drawn.
"""

from collections.abc import Callable
from typing import Any

figures: Callable[[], Any]  # returns the package of figures; `gramian` sets it
