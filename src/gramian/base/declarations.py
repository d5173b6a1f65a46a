"""What files may hold: estimators and records by name, and the attributes that every decomposition declares.

A model that is read is checked against the declaration of its estimator.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

from gramian.records import Attempt, Certificate, FloatArray, Plan, Spectrum

if TYPE_CHECKING:
    from gramian.analysis.component_rules import ComponentChoice
    from gramian.store import Array, Optional, Sizes

Parts = dict[str, Any]
LACKED = "?"  # by some models
# Estimators that files hold, by name.
MODELS: dict[str, type[Any]] = {}
# Records that files hold, by name: the class, or where it is, and shapes where a type hint says less.
RECORDS: dict[str, tuple[type[Any] | str, Mapping[str, Any]]] = {}


def register_record(record: type[Any] | str, **shapes: Any) -> None:
    """Let files hold a dataclass; where a type hint says less than is known, a shape takes its place.

    Parameters
    ----------
    record : type or str
        Its module and name where only a file needs it.
    **shapes : declarations of :mod:`gramian.store`
    """
    name = record.rpartition(".")[2] if isinstance(record, str) else record.__name__
    RECORDS[name] = record, shapes


class DataAttributes:
    """What is known of the fitted rows before anything is computed."""

    n_samples_: Annotated[int, Sizes("n")]
    picture_shape_: tuple[int, int] | None
    _unequal: Annotated[bool, LACKED]  # whether rows have weights of their own


class DecompositionAttributes(DataAttributes):
    """The attributes of every estimator of k eigenpairs."""

    n_components_: Annotated[int, Sizes("k")]
    rank_: int
    explained_variance_ratio_: Annotated[FloatArray | None, Optional(Array("k", least=0))]
    plan_: Plan
    attempts_: Annotated[tuple[Attempt, ...], LACKED]
    spectrum_: Spectrum
    certificate_: Certificate
    component_choice_: Annotated[ComponentChoice | None, LACKED]
    _fit_parameters: dict[str, Any]
