"""Tasks of a worker about kernels: proofs and counterexamples, the table, and contours of the playground."""

from __future__ import annotations

import warnings
from contextlib import suppress
from dataclasses import asdict
from typing import Any

import numpy as np

from gramian import plots
from gramian.errors import GramianError, MissingExtraError, RankWarning, needs
from gramian.estimators.kernel_pca import KernelPCA
from gramian.kernels import Validity, audit, kernel_from_name, table
from gramian.kernels.auditing import Witness
from gramian.plots.names import component_titles
from gramian.report.facts import audit_facts, plain
from gramian.report.mathml import mathml, matrix, number
from gramian.service.bodies import Message
from gramian.service.tasks import by_name

NARROW = 340  # pixels of a figure that fits a phone
MOST_POINTS = 5  # of a counterexample whose matrix is written out
# The playground: points, the seed of their noise, components, cells of a side of the grid, and lines of each.
POINTS, SEED, COMPONENTS, CELLS, LEVELS = 120, 1, 3, 48, 9
CONSTANT = 1e-9  # range of scores relative to the largest, up to which nothing varies


def kernel(expression: str, features: int | None, seconds: float) -> Message:
    """Check whether an expression is a kernel; return the proof or a counterexample."""
    kernel = kernel_from_name(expression)
    report = audit(kernel, n_features=features, time_limit=seconds)
    facts = plain(audit_facts(report)) | {"text": str(report), "figure": None, "formula": mathml(str(kernel))}
    facts["steps"] = _steps(report.validity, [])
    facts["sum"] = _negative_sum(report.witness)
    if report.witness is not None:
        with suppress(MissingExtraError), needs("plots", "altair", "Drawing figures"):
            from gramian.plots.style import in_page, room

            with room(NARROW):
                facts["figure"] = plain(in_page(plots.counter_example(report).to_dict()))
    return dict(facts)


def _steps(validity: Validity, steps: list[Message]) -> list[Message]:
    """Return the steps of a proof, each after those that it uses."""
    for part in validity.parts:
        _steps(part, steps)
    if validity.formula not in [step["expression"] for step in steps]:
        typeset = ""
        with suppress(GramianError):  # a Python function has no expression
            typeset = mathml(str(kernel_from_name(validity.formula)))
        about = {"expression": validity.formula, "formula": typeset, "reason": validity.reason}
        steps.append(about | {"status": validity.status})
    return steps


def _negative_sum(witness: Any) -> str:
    """Return the weights, the Gram matrix and their negative sum as MathML; "" for many points."""
    if not isinstance(witness, Witness) or len(witness.points) > MOST_POINTS:
        return ""
    v, value = matrix(witness.vector[:, None].tolist()), number(f"{witness.quadratic_form:.3g}")
    names = "<msup><mi>v</mi><mo>T</mo></msup><mi>K</mi><mi>v</mi>"
    parts = f"{matrix([witness.vector.tolist()])}{matrix(witness.gram.tolist())}{v}"
    return f"<math><mrow>{names}<mo>=</mo>{parts}<mo>=</mo>{value}<mo>&lt;</mo><mn>0</mn></mrow></math>"


def kernel_table() -> Message:
    """Return all kernels, with their formulas as MathML."""
    entries = [asdict(entry) | {"typeset": mathml(entry.formula)} for entry in table()]
    return {"kernels": plain(entries)}


def contours(expression: str, points: str) -> Message:
    """Return lines of equal score of a kernel PCA of points in the plane, as paths in a square of side 1."""
    with needs("plots", "altair", "Drawing figures"):
        from gramian.plots.contours import contour
    kernel = kernel_from_name(expression)
    X, classes = _in_plane(points)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RankWarning)  # of a kernel with fewer components
        model = KernelPCA(COMPONENTS, kernel=kernel).fit(X)
    side = np.linspace(0.0, 1.0, CELLS + 1)
    grid = np.stack(np.meshgrid(side, side, indexing="ij"), axis=-1)
    scores = np.asarray(model.transform(grid.reshape(-1, 2) * 2 - 1), np.float64).reshape(*grid.shape[:2], -1)
    panels = []
    for place, title in enumerate(component_titles(model, scores.shape[-1])):
        values = scores[..., place]
        low, high, largest = (float(one) for one in (values.min(), values.max(), np.abs(values).max()))
        varies = high - low > CONSTANT * largest
        levels = np.linspace(low, high, LEVELS + 2)[1:-1].tolist() if varies else []
        lines = [[level / largest, contour(grid, values, level).round(3)] for level in levels]
        panels.append({"title": title, "lines": lines})
    places = np.column_stack([(X + 1) / 2, classes]).round(3)
    return dict(plain({"formula": mathml(str(kernel)), "panels": panels, "points": places}))


def _in_plane(points: str) -> tuple[Any, Any]:
    """Return points within the square from -1 to 1, and their classes."""
    from sklearn.datasets import make_blobs, make_circles, make_moons

    if points == "rings":
        X, classes = make_circles(POINTS, noise=0.05, factor=0.4, random_state=SEED)
    elif points == "moons":
        X, classes = make_moons(POINTS, noise=0.08, random_state=SEED)
    else:
        X, classes = make_blobs(POINTS, centers=3, cluster_std=1.0, random_state=SEED)
    X = X - (X.max(axis=0) + X.min(axis=0)) / 2
    return 0.8 * X / np.abs(X).max(), classes


VIEWS = by_name(kernel, kernel_table, contours)
