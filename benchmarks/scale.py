"""Suite ``scale``: data that arrive in pieces, or are too large to be held."""

from __future__ import annotations

from typing import Any

import files
import generators
import landmarks
import references
from contenders import in_batches
from harness.rows import Row
from harness.timing import TimedRow

BATCH = 10_000


def rows(quick: bool) -> list[Row]:
    """Every row of the suite, at full or at quick size."""
    return [_stream(20_000 if quick else 1_000_000), *files.rows(quick), *landmarks.rows(quick)]


def _stream(n: int) -> TimedRow:
    settings: dict[str, Any] = {"n_components": 50, "batch": BATCH}
    return TimedRow(
        "stream-1m",
        f"partial_fit, 50 components, {n:,} x 100 in batches of {BATCH:,}: {generators.DECAYING}; mean 0, "
        f"seed 2; peer: IncrementalPCA with batch_size {BATCH:,}, whose answer depends on the batches",
        data=lambda: generators.decaying(n, 100, 2),
        contenders=(in_batches("gramian.PCA", **settings), in_batches("IncrementalPCA", **settings)),
        reference=references.pca_reference,
        errors=references.pca_errors,
        tolerances={"eigenvalue": 1e-4},
        ratio=0.12,
        growth=300e6,
        repeats=3,
    )
