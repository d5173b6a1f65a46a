"""The command that shows a saved model: ``info``."""

import json
from typing import Any

from gramian.cli.fitting import component_table
from gramian.cli.inputs import model_path, read_model

__all__ = ["info"]

NAMES_SHOWN = 8


def info(model: str, as_json: bool) -> None:
    """Print what a model file holds."""
    from gramian.report.facts import component_facts, model_facts
    from gramian.store import read_model as read_stored

    fitted = read_model(model)
    path = model_path(model)
    written_by = read_stored(path).versions
    if as_json:
        facts = {
            "file": str(path),
            "bytes": path.stat().st_size,
            "model": model_facts(fitted),
            "components": component_facts(fitted),
            "versions": written_by,
        }
        print(json.dumps(facts, indent=2, allow_nan=False))
        return
    facts = model_facts(fitted)
    print(
        "\n".join(
            [
                *_lines(facts),
                "",
                *component_table(fitted),
                "",
                str(fitted.plan_),
                "",
                str(fitted.certificate_),
            ]
        )
    )
    print("\nWritten by " + ", ".join(f"{name} {number}" for name, number in written_by.items()) + ".")


def _lines(facts: dict[str, Any]) -> list[str]:
    parameters = ", ".join(f"{name}={value!r}" for name, value in facts["parameters"].items())
    size = f"{facts['n_features']:,} columns"
    if facts["picture_shape"]:
        height, width = facts["picture_shape"]
        size = f"{height * width:,} pixels (pictures {height} high, {width} wide)"
    lines = [f"{facts['kind']}({parameters})"]
    if facts["kernel"]:
        lines.append(f"Kernel: {facts['kernel']}")
    if facts["validity"]:
        lines.append(facts["validity"])
    if facts["repair"]:
        lines.append(f"Repair: {facts['repair']}")
    lines.append(
        f"Fitted on {facts['n_samples']:,} rows x {size}; "
        f"{facts['n_components']:,} components, rank {facts['rank']:,}."
    )
    names = facts["feature_names"]
    if names:
        more = f" and {len(names) - NAMES_SHOWN} more" if len(names) > NAMES_SHOWN else ""
        lines.append(f"Columns: {', '.join(names[:NAMES_SHOWN])}{more}")
    return lines
