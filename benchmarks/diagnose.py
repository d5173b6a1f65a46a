"""``python benchmarks/diagnose.py``: what diagnose says of tables with a trap, and of tables without one."""

from __future__ import annotations

import sys
import time
import warnings

from diagnosis.tables import clean, traps

from gramian.inspect.diagnose import diagnose


def main() -> int:
    warnings.simplefilter("ignore")
    right = wrong = mended = asked = 0
    slow = []
    print("Traps")
    for case in traps():
        began = time.perf_counter()
        model = case.model.fit(case.X)
        fitted = time.perf_counter() - began
        began = time.perf_counter()
        found = diagnose(model, case.X, case.labels)
        slow.append((time.perf_counter() - began, fitted, case.name))
        missing = set(case.must) - set(found.codes)
        serious = {one.code for one in found.serious} - set(case.must)
        after = ""
        if case.mended is not None:
            asked += 1
            from sklearn.base import clone
            again, X = case.mended()
            still = set(case.must) & set(diagnose(clone(again).fit(X), X).codes)
            mended += not still
            after = f"  STILL {', '.join(still)}" if still else "  mended"
        right += not missing
        wrong += bool(missing)
        print(f"{'MISSED' if missing else 'ok':7}{case.name:48}{', '.join(found.codes)}{after}{'  ALSO ' + ', '.join(serious) if serious else ''}")
    false, count = 0, 0
    print("Clean")
    for case in clean():
        model = case.model
        began = time.perf_counter()
        model = model.fit(case.X)
        fitted = time.perf_counter() - began
        began = time.perf_counter()
        found = diagnose(model, case.X, case.labels)
        slow.append((time.perf_counter() - began, fitted, case.name))
        count += 1
        false += bool(found.serious)
        print(f"{'FALSE' if found.serious else 'ok':7}{case.name:48}{', '.join(found.codes)}")
        for one in found.serious:
            print("        ", one.sentence)
    print(f"{right} of {right + wrong} traps found, {mended} of {asked} mended; {false} of {count} clean tables with a serious finding")
    for seconds, fit, name in sorted(slow, reverse=True)[:8]:
        print(f"{1e3 * seconds:8.1f} ms, fit {1e3 * fit:8.1f} ms  {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
