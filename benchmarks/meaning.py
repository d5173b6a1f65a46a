"""Suite ``meaning``: what is done with components, in units of finding them."""

from __future__ import annotations

from typing import Any

import generators
import numpy as np
import references
from contenders import our_pca
from harness.rows import Contender, FloatArray, Outcome, Row
from harness.timing import TimedRow

from gramian.models.whitener import Whitener

PEOPLE = slice(0, 2286)
BLOCK = 256


def rows(quick: bool) -> list[Row]:
    """Every row of the suite, at full or at quick size."""
    return [_zca_yale(quick)]


def _zca_yale(quick: bool) -> TimedRow:
    size = "600 x 2016 (quick)" if quick else "2286 x 32,256"

    def data() -> Any:
        return generators.faces(slice(0, 600), 4) if quick else generators.faces(PEOPLE)

    return TimedRow(
        "zca-yale",
        f"fit_transform, ZCA of Extended Yale B cropped, first 36 people, {size} float32, all directions; "
        "beside it gramian.PCA fitted with as many components, which is what the ratio is to",
        data=data,
        contenders=(
            Contender("gramian.Whitener zca", _whiten, _whitened, ours=True),
            _as_unit(our_pca("gramian.PCA fit")),
        ),
        reference=references.pca_reference,
        errors=_errors,
        tolerances={"identity": 1e-6, "eigenvalue": 1e-4},
        ratio=3.0,
        # The whitened pictures and the directions, 0.3 GB each, and what finding these takes.
        growth=1.6e9,
        repeats=1,
        warm=False,
        requires=generators.no_faces,
    )


def _whiten(X: Any) -> tuple[Whitener, Any]:
    model = Whitener("zca", random_state=0)
    return model, model.fit_transform(X)


def _whitened(state: Any, result: tuple[Whitener, Any]) -> Outcome:
    """Coordinates of the whitened rows in an orthonormal basis of the directions, in float64."""
    model, Z = result
    directions = model.components_[: model.rank_].astype(np.float64).T
    blocks = (Z[start : start + BLOCK].astype(np.float64) for start in range(0, len(Z), BLOCK))
    scores = np.concatenate([block @ directions for block in blocks])
    # The basis L^-1 U, where U U.T = L L.T: what U lacks in orthonormality is no error of the whitening.
    L = np.linalg.cholesky(directions.T @ directions)
    return Outcome(
        values=model.eigenvalues_,
        scores=np.linalg.solve(L, scores.T).T,
        certificate=model.certificate_.ok,
        note=f"{model.spectrum_.route}, rank {model.rank_}",
    )


def _as_unit(contender: Contender) -> Contender:
    """The same contender, not counted as ours."""
    return Contender(contender.name, contender.run, contender.outcome)


def _errors(reference: references.PcaReference, outcome: Outcome) -> dict[str, float]:
    # Beyond the rank that float32 data has, variances are 0 by convention.
    values: FloatArray = np.asarray(outcome.values)
    values = values[values > 0]
    return {
        "identity": 0.0 if outcome.scores is None else _distance_from_white(outcome.scores),
        "eigenvalue": references.eigenvalue_error(values, reference.values),
    }


def _distance_from_white(scores: FloatArray) -> float:
    """Largest entry of the covariance of whitened rows less the identity, where there is variance."""
    C = scores - scores.mean(axis=0)
    return float(np.abs(C.T @ C / (len(C) - 1) - np.eye(C.shape[1])).max())
