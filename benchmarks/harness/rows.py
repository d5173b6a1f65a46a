"""The nouns of a benchmark: a row, its contenders, and what was found about them."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from importlib.util import find_spec
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

FloatArray = npt.NDArray[np.float64]


def unchanged(data: Any) -> Any:
    """Prepare nothing: the data itself is what the timed function takes."""
    return data


def always() -> bool:
    return True


@dataclass(frozen=True)
class Options:
    """What the command line asked for."""

    suite: str
    quick: bool = False
    slow: bool = False
    repeats: int | None = None


@dataclass(frozen=True)
class Outcome:
    """What a contender returned, reduced to what accuracy is judged by."""

    values: FloatArray | None = None
    vectors: Any = None
    scores: Any = None
    certificate: bool | None = None
    note: str = ""
    predicted: float | None = None


@dataclass(frozen=True)
class Contender:
    """One way of doing a row's work.

    Attributes
    ----------
    run : callable
        Timed: takes what ``prepare`` made of the data and returns the result.
    outcome : callable
        Untimed: takes the same state and the result, and keeps what accuracy needs.
    slow : bool
        Run once, and only with ``--slow``.
    allowance : int or None
        Bytes of address space beyond the data; where set, it runs in a process of its own only.
    requires : str
        Module without which the contender is left out.
    available : callable
        Whether what it needs beside modules of Python is here.
    """

    name: str
    run: Callable[[Any], Any]
    outcome: Callable[[Any, Any], Outcome]
    prepare: Callable[[Any], Any] = unchanged
    ours: bool = False
    slow: bool = False
    allowance: int | None = None
    requires: str = ""
    available: Callable[[], bool] = always

    @property
    def installed(self) -> bool:
        return self.available() and (not self.requires or find_spec(self.requires) is not None)


@dataclass
class Standing:
    """What was measured of one contender."""

    name: str
    ours: bool
    seconds: list[float] = field(default_factory=list)
    errors: dict[str, float] = field(default_factory=dict)
    accurate: bool = False
    peak_growth: int | None = None
    seconds_in_child: float | None = None
    certificate: bool | None = None
    note: str = ""
    predicted: float | None = None
    warnings: list[str] = field(default_factory=list)
    failure: str = ""

    @property
    def median(self) -> float:
        return statistics.median(self.seconds) if self.seconds else math.nan


@dataclass(frozen=True)
class Check:
    """One thing that must hold, with the number that decides it."""

    text: str
    value: float
    bound: float

    @property
    def holds(self) -> bool:
        return self.value <= self.bound


@dataclass
class Report:
    """Everything found out about a row."""

    row: str
    about: str
    tolerances: Mapping[str, float]
    limit: float | None = None
    standings: list[Standing] = field(default_factory=list)
    checks: list[Check] = field(default_factory=list)
    skipped: str = ""
    absent: list[str] = field(default_factory=list)
    against: Callable[..., Any] = min

    @property
    def ours(self) -> Standing | None:
        return next((s for s in self.standings if s.ours), None)

    @property
    def best_peer(self) -> Standing | None:
        """The fastest peer setting that meets the row's accuracy; the slowest if ``against`` is ``max``."""
        peers = [s for s in self.standings if not s.ours and s.accurate and s.seconds]
        return self.against(peers, key=lambda s: s.median, default=None)  # type: ignore[no-any-return]

    @property
    def ratio(self) -> float:
        """Ours over the best peer, the median over pairs of neighbouring runs."""
        best = self.best_peer
        return math.nan if self.ours is None or best is None else pair_ratio(self.ours, best)

    @property
    def holds(self) -> bool:
        ours = self.ours
        return ours is not None and not ours.failure and all(c.holds for c in self.checks)


class Row(Protocol):
    """A line of the table: it knows how it is made and how it is measured."""

    @property
    def name(self) -> str: ...

    @property
    def about(self) -> str: ...

    def measure(self, options: Options, rehearsal: Any) -> Report:
        """Measure; ``rehearsal`` is the same row at quick size, for warming up."""
        ...


def pair_ratio(ours: Standing, peer: Standing) -> float:
    """Median of the ratios of runs that were neighbours in time."""
    pairs = [a / b for a, b in zip(ours.seconds, peer.seconds, strict=False)]
    return statistics.median(pairs) if pairs else math.nan
