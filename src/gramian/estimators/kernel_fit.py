"""What the fits of kernel PCA share: parameters, the kernel that they ask for, and what they find."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import KW_ONLY, dataclass
from functools import cached_property
from typing import Annotated, Any

import numpy.typing as npt

from gramian.analysis.component_rules.rules import ComponentChoice
from gramian.arrays import numpy_dtype
from gramian.engine import Solution
from gramian.engine.kernel import Coefficients
from gramian.estimators.feature_maps import RandomFourierMap
from gramian.estimators.inputs import check_tol
from gramian.kernels import Kernel, kernel_from_name
from gramian.kernels.expression import PRECOMPUTED
from gramian.kernels.widths import MEDIAN_ROWS
from gramian.operators.features import FeatureSums
from gramian.records import Plan, Seed
from gramian.rows import Rows
from gramian.store import Given


@dataclass(eq=False, repr=False)
class KernelParameters:
    """The parameters of KernelPCA, which its docstring explains; fits read nothing else of an estimator."""

    n_components: int | float | str | None = None
    _: KW_ONLY
    kernel: str | Kernel | Callable[..., Any] = "linear"
    gamma: float | str | None = None
    degree: int = 3
    coef0: float = 1
    kernel_params: dict[str, Any] | None = None
    center: bool = True
    solver: str = "auto"
    tol: float | None = None
    random_state: Seed = 0
    memory_limit: int | str | None = None
    repair: str | None = None
    preimage: str = "auto"
    n_landmarks: int | None = None
    landmarks: Annotated[npt.ArrayLike, Given("_ d")] = "rpcholesky"
    device: str | None = None


@dataclass(frozen=True, eq=False)
class Nodes:
    """What new rows are mapped by in place of all fitted ones: landmarks, or random features."""

    landmarks: Any = None
    indices: Any = None
    mapping: RandomFourierMap | None = None


@dataclass(frozen=True, eq=False)
class KernelModel:
    """What a fit found: eigenpairs, and what maps new rows.

    Attributes
    ----------
    n : int
        Rows that were fitted.
    weight : float
        Sum of their weights.
    of : str
        The matrix whose rank it is, for a warning.
    solution : Solution
        Its spectrum in the units of the kernel.
    found : Coefficients
    fitted : array or None
        All fitted rows, of an exact fit.
    sums : FeatureSums or None
        What more rows can be merged with.
    """

    n: int
    weight: float
    of: str
    kernel: Kernel | None
    solution: Solution
    found: Coefficients
    fitted: Any = None
    choice: ComponentChoice | None = None
    nodes: Nodes = Nodes()
    sums: FeatureSums | None = None


@dataclass(eq=False)
class KernelFit(ABC):
    """Kernel PCA of rows by one kind of method."""

    parameters: KernelParameters
    rows: Rows

    @cached_property
    def kernel(self) -> Kernel | None:
        """The kernel with every parameter a number; None for a precomputed one."""
        if is_precomputed(self.parameters):
            return None
        kernel, rows = asked_kernel(self.parameters), self.rows.at_home
        values = some_of(rows) if not rows.free_to_revisit else rows.in_memory()
        kernel.admit_sparse(values)
        return kernel.resolve(values, rows.feature_names)

    @property
    def plain_landmarks(self) -> bool:
        """Whether nothing was asked of landmarks but their number."""
        landmarks = self.parameters.landmarks
        return isinstance(landmarks, str) and landmarks == "rpcholesky"

    @property
    @abstractmethod
    def plan(self) -> Plan:
        """What solving does, with predicted seconds and bytes."""

    @abstractmethod
    def solve(self, checkpoint: Any = None, *, keep: bool = False) -> KernelModel:
        """Find the components; ``keep`` what more rows can be merged with."""


def is_precomputed(parameters: KernelParameters) -> bool:
    """Return whether the rows are a kernel matrix."""
    return isinstance(parameters.kernel, str) and parameters.kernel == PRECOMPUTED


def asked_kernel(parameters: KernelParameters) -> Kernel:
    """Return the kernel as its parameters say, without numbers from the data."""
    return kernel_from_name(
        parameters.kernel,
        gamma=parameters.gamma,
        degree=parameters.degree,
        coef0=parameters.coef0,
        params=parameters.kernel_params,
    )


def precision_of(fitted: Any, tol: float | None) -> float:
    """Return the error of an entry, relative to the largest, that leaves ``tol`` to be reached."""
    return float(min(1e-9, 0.1 * check_tol(tol, numpy_dtype(fitted)) / fitted.shape[0] ** 0.5))


def some_of(rows: Rows) -> Any:
    """Return evenly spaced rows, from which the parameters of a kernel are found."""
    return rows.at(range(0, rows.shape[0], -(-rows.shape[0] // MEDIAN_ROWS)))
