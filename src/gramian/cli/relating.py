"""The command that finds laws: ``relations``."""

import json
import math
from typing import Any

from gramian.cli.inputs import read_table
from gramian.cli.options import Reading
from gramian.cli.progress import progress

__all__ = ["relations"]


def relations(data: str, degree: int, tol: float | None, reading: Reading, as_json: bool) -> None:
    """Print the polynomial equations that the rows obey."""
    from gramian.laws.relations import relations as find

    table = read_table(data, reading)
    with progress("computing"):
        found = find(table, degree, tol=tol)
    print(json.dumps(_facts(table, found), indent=2, allow_nan=False) if as_json else found)


def _facts(table: Any, found: Any) -> dict[str, Any]:
    from gramian.report.facts import data_facts

    return {
        "data": data_facts(table),
        "degree": found.degree,
        "monomials": found.n_monomials,
        "distinct_rows": found.n_samples,
        "relations": [
            {
                "equation": relation.equation,
                "terms": list(relation.terms),
                "powers": relation.powers.tolist(),
                "coefficients": relation.coefficients.tolist(),
                "errors": relation.errors.tolist(),
                "residual": relation.residual,
                "held_out": relation.held_out,
                "noise_level": relation.noise_level,
                "limit": relation.limit,
                "origin": relation.origin.tolist(),
                "unit": relation.unit.tolist(),
                "columns": list(relation.feature_names),
            }
            for relation in found
        ],
        # Infinite where no other polynomial is left, which JSON cannot say.
        "nearest_other": found.nearest if math.isfinite(found.nearest) else None,
        "limit": found.limit,
        "reason": found.reason,
    }
