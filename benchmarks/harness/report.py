"""What is printed and what is written down."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from dataclasses import asdict
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from harness.machine import commit, machine
from harness.rows import Report, Standing, pair_ratio

RESULTS = Path(__file__).resolve().parents[1] / "results"
HEADINGS = (
    "row",
    "ours s",
    "best peer",
    "peer s",
    "ratio",
    "limit",
    "holds",
    "error ours",
    "error peer",
    "growth ours",
    "growth peer",
    "certificate",
    "predicted s",
)
CONTENDER_HEADINGS = (
    "contender",
    "median s",
    "runs",
    "ours /",
    "errors",
    "accurate",
    "growth",
    "remarks",
)


def heading() -> str:
    """One line about the machine, above everything else."""
    about = machine()
    libraries = ", ".join(
        f"{entry['internal_api']} {entry.get('version') or ''}".strip() + f" x {entry['num_threads']}"
        for entry in about["libraries"]
    )
    versions = ", ".join(f"{name} {version}" for name, version in about["packages"].items())
    memory = as_bytes(about["memory_bytes"])
    load = about["load_average"]
    return (
        f"{about['cpu']}, {about['cores']} cores, {memory}; Python {about['python']}, {versions}; "
        f"{libraries}; load {load[0]:.2f}" + (f"; commit {commit()[:12]}" if commit() else "")
    )


def detail(report: Report) -> str:
    """Everything about one row: each contender, then each thing that must hold."""
    lines = [f"{report.row}: {report.about}"]
    if report.skipped:
        return "\n".join([*lines, f"  skipped: {report.skipped}", ""])
    cells = [CONTENDER_HEADINGS, *(_contender(report, s) for s in report.standings)]
    lines += ["  " + line for line in aligned(cells)]
    if report.absent:
        lines.append(f"  not installed: {', '.join(report.absent)}; make bench installs all but PyTorch")
    for check in report.checks:
        sign = "holds" if check.holds else "DOES NOT HOLD"
        lines.append(f"  {check.text}: {as_number(check.value)} <= {as_number(check.bound)} {sign}")
    return "\n".join([*lines, ""])


def _contender(report: Report, standing: Standing) -> tuple[str, ...]:
    ours = report.ours
    ratio = math.nan if ours is None or standing.ours else pair_ratio(ours, standing)
    errors = ", ".join(f"{name} {value:.1e}" for name, value in standing.errors.items())
    remarks = [standing.failure, standing.note, *standing.warnings]
    if standing.predicted is not None:
        remarks.append(f"predicted {as_number(standing.predicted)} s")
    if standing.certificate is not None:
        remarks.insert(0, "certificate ok" if standing.certificate else "certificate NOT ok")
    return (
        standing.name,
        as_number(standing.median),
        str(len(standing.seconds)),
        as_number(ratio),
        errors or "-",
        "yes" if standing.accurate else "NO",
        as_bytes(standing.peak_growth),
        "; ".join(part for part in remarks if part),
    )


def table(reports: Sequence[Report]) -> str:
    """One line per row, for reading at a glance."""
    return "\n".join(aligned([HEADINGS, *(_line(report) for report in reports)]))


def _line(report: Report) -> tuple[str, ...]:
    if report.skipped:
        return (report.row, f"skipped: {report.skipped}", *[""] * (len(HEADINGS) - 2))
    ours, best = report.ours, report.best_peer
    peers = [s for s in report.standings if not s.ours]
    # Without an accurate peer, the first one shows what it is off by.
    shown = best or next(iter(peers), None)
    named = "" if shown is None else shown.name if best else f"none ({_why(shown)})"
    return (
        report.row,
        as_number(ours.median if ours else math.nan),
        named or "-",
        as_number(shown.median if shown else math.nan),
        as_number(report.ratio),
        as_number(report.limit if report.limit is not None else math.nan),
        "yes" if report.holds else "NO",
        _first_error(ours),
        _first_error(shown),
        as_bytes(ours.peak_growth if ours else None),
        as_bytes(shown.peak_growth if shown else None),
        "-" if ours is None or ours.certificate is None else "ok" if ours.certificate else "NOT ok",
        "-" if ours is None or ours.predicted is None else as_number(ours.predicted),
    )


def _why(peer: Standing) -> str:
    return f"{peer.name}: {peer.failure.partition(':')[0]}" if peer.failure else f"{peer.name} is off"


def _first_error(standing: Standing | None) -> str:
    if standing is None or not standing.errors:
        return "-"
    return f"{next(iter(standing.errors.values())):.1e}"


def aligned(cells: Sequence[tuple[str, ...]]) -> list[str]:
    # A skipped row's reason runs on across the columns and must not widen them.
    plain = [row for row in cells if not row[1].startswith("skipped")]
    widths = [max(len(row[i]) for row in plain) for i in range(len(cells[0]))]
    rows = ("  ".join(c.ljust(w) for c, w in zip(row, widths, strict=True)) for row in cells)
    return [row.rstrip() for row in rows]


def as_number(value: float) -> str:
    return "-" if math.isnan(value) else f"{value:.3g}"


def as_bytes(amount: int | None) -> str:
    if amount is None:
        return "-"
    return f"{amount / 1e9:.2f} GB" if amount >= 1e9 else f"{amount / 1e6:.0f} MB"


# ------------------------------------------------------------------- the file


def write(suite: str, report: Report) -> Path:
    """Put a row into today's file; other rows that it already holds stay as they are."""
    now = datetime.now(UTC)
    path = RESULTS / f"{suite}-{now:%Y-%m-%d}.json"
    kept: dict[str, Any] = {"suite": suite, "rows": {}}
    if path.is_file():
        kept = json.loads(path.read_text(encoding="utf-8"))
    kept["machine"] = machine()
    kept["rows"][report.row] = {"measured": f"{now:%Y-%m-%dT%H:%MZ}", "commit": commit()} | _plain(report)
    RESULTS.mkdir(exist_ok=True)
    draft = path.with_suffix(".part")
    draft.write_text(json.dumps(kept, indent=1, default=str) + "\n", encoding="utf-8")
    draft.replace(path)
    return path


def _plain(report: Report) -> dict[str, Any]:
    best = report.best_peer
    return {
        "about": report.about,
        "skipped": report.skipped,
        "ratio": _or_none(report.ratio),
        "limit": report.limit,
        "best_peer": best.name if best else None,
        "holds": report.holds if not report.skipped else None,
        "tolerances": dict(report.tolerances),
        "checks": [asdict(c) | {"holds": c.holds} for c in report.checks],
        "contenders": [asdict(s) | {"median": _or_none(s.median)} for s in report.standings],
    }


def _or_none(value: float) -> float | None:
    return None if math.isnan(value) else value
