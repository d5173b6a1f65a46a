"""What misleads in a fitted model."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

from gramian.operations.operation import DATA, META, MODEL, Result, operation

COLUMNS = ("code", "severity", "sentence", "remedy")


@dataclass(frozen=True)
class Diagnose:
    """The parameters of ``gramian.diagnose``."""


@operation(MODEL, DATA, META)
def diagnose(options: Diagnose, model: Any, data: Any) -> Result:
    """Say whether the answer of a fitted model means what it seems to mean.

    Looks for columns that dominate by their unit, a kernel too narrow or too wide, single rows, identifiers,
    orders, arches, and components that are chance. Each finding has its evidence and the step that mends it.
    Of several columns of labels or metadata, such as treatment and batch, it says which coincide.
    """
    from gramian.inspect.diagnose import diagnose

    result = diagnose(model, data)
    findings = [asdict(one) for one in result.findings]
    columns = {name: [one[name] for one in findings] for name in COLUMNS}
    text = "\n".join(result.lines())
    return Result(text, {"findings": findings}, tables={"findings": columns})
