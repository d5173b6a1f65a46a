"""Codes of missing values that are planted in columns of public tables: are they found, and are others?"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from columns.cases import Case
from gramian.tables.codes import codes_of
from gramian.tables.preview import of_numbers

CODES = -9999, -999, -200, -99, -9, 99, 999, 9999, 8888, -99.99, 0


def planted(cases: Sequence[Case]) -> str:
    """Return the share of planted codes that are found, and of columns without one in which none is.

    Codes no further from the other values than half their range are not planted: these might be values.
    """
    rng = np.random.default_rng(0)
    found = missed = false = clean = 0
    for case in cases:
        for column in case.seen.columns:
            if case.labels.get(column.name) != "in" or column.sample is None or column.distinct < 4:
                continue
            values = column.sample[np.isfinite(column.sample)]
            if len(values) < 20 or codes_of(column):  # public tables have codes too
                false += len(values) >= 20
                print(f"  already in {case.name}: {column.name} {codes_of(column)}") if len(
                    values
                ) >= 20 else None
                continue
            clean += 1
            code = float(rng.choice(CODES))
            low, high = float(values.min()), float(values.max())
            if low <= code <= high or min(abs(code - low), abs(code - high)) < 0.5 * (high - low):
                continue  # as a value it would be none
            values = values.copy()
            many = max(2, rng.binomial(len(values), rng.uniform(0.01, 0.2)))
            values[rng.choice(len(values), many, replace=False)] = code
            (dirty,) = of_numbers([column.name], values[None])
            got = codes_of(dirty)
            found += set(got) == {code}
            missed += set(got) != {code}
    recall, precision = found / (found + missed), 1 - false / clean
    return f"codes planted in {found + missed} columns: {recall:.3f} found; none in {precision:.3f} of others"
