"""``python benchmarks/diagnose.py``: what diagnose finds in tables with a trap, and in tables without one.

Exits with 1 where fewer than 95 % of the traps are found with their remedy, a remedy leaves its finding, more
than one clean table of 60 has a serious finding, or what must not be said is said in more than 5 % of all.
Needs the data of ../shared/data (or GRAMIAN_TEST_DATA); statsmodels and vega_datasets add tables.
GRAMIAN_SEED draws others.
"""

from __future__ import annotations

import sys
import time
import warnings

from diagnosis.case import Case
from diagnosis.clean import clean
from diagnosis.fields import fields
from diagnosis.traps import traps
from sklearn.base import clone

import gramian
from gramian.answers.diagnose import Diagnosis

FOUND, FALSE = 0.95, 1 / 60


def main() -> int:
    warnings.simplefilter("ignore")
    seconds: list[tuple[float, float, str]] = []

    def diagnosed(case: Case) -> Diagnosis:
        began = time.perf_counter()
        model = clone(case.model).fit(case.X)
        fitted = time.perf_counter()
        found = gramian.diagnose(model, case.X, case.labels)
        seconds.append((time.perf_counter() - fitted, fitted - began, case.name))
        return found

    names = "traps", "missed", "remedies", "not mended", "clean", "false", "said without reason"
    counts = dict.fromkeys(names, 0)
    for case in (*traps(), *clean(), *fields()):
        found = diagnosed(case)
        said = ", ".join(
            one.code.upper() if one.severity == "serious" else one.code for one in found.findings
        )
        wrong, said_wrongly = case.wrong(found), [code for code in case.never if code in found.codes]
        counts["traps" if case.must else "clean"] += 1
        counts["missed"] += bool(case.must) and len(wrong) > len(said_wrongly)
        counts["false"] += not case.must and bool(found.serious)
        counts["said without reason"] += bool(said_wrongly)
        verdict = "WRONG" if wrong else "ok"
        print(f"{verdict:6}{case.name:46} {case.must or 'clean':17}{said}", *wrong, sep="; ", flush=True)
        if case.mended is not None:
            model, X = case.mended
            still = case.must in gramian.diagnose(clone(model).fit(X), X).codes
            counts["remedies"] += 1
            counts["not mended"] += still
            if still:
                print(f"WRONG {case.name}: still there after the remedy")
    print("; ".join(f"{name}: {number}" for name, number in counts.items()))
    print("slowest, in milliseconds (of the fit):")
    for own, fit, name in sorted(seconds, reverse=True)[:5]:
        print(f"{1e3 * own:8.1f} ({1e3 * fit:.1f})  {name}")
    few = counts["missed"] > (1 - FOUND) * counts["traps"]
    many = counts["said without reason"] > (1 - FOUND) * (counts["traps"] + counts["clean"])
    return int(few or many or counts["not mended"] > 0 or counts["false"] > FALSE * counts["clean"])


if __name__ == "__main__":
    sys.exit(main())
