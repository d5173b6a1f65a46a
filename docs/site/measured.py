"""The page of measured results: every row of benchmarks/results, from its latest run.

``python docs/site/measured.py`` writes, from the same results, the tables of docs/benchmarks.md, the
ratios by shape of README.md, and the figure docs/images/speed.svg.
"""

import json
import statistics
from pathlib import Path
from typing import Any

import growth
import shapes

SUMMARISED = (
    *("everyday", "exact", "kernels", "meaning", "scale", "growth", "selection", "cluster", "fields", "r"),
)
MOST_NAMES = 60  # characters of a contender's name
GROWTH = (
    "Medians of the suite `growth`, with logarithmic axes: a straight line of slope p is growth with the "
    "p-th power of the size. The tables give these exponents of time and memory, between the two largest "
    "sizes, and the seconds and MB of the largest. Memory below 1 MB counts as 1 MB."
)


def pages(folder: Path) -> dict[str, str]:
    """Return the page and its charts by their names, from the files that ``python benchmarks`` writes."""
    suites, machines = latest(folder)
    lines = [
        "# Measured results",
        "",
        "Every row from its latest run; [Benchmarks](benchmarks.md) explains the rows and how they are "
        "measured. The spread is that from the fastest to the slowest run. Growth is the peak of memory in "
        "addition to the data. The ratio is the median over neighbouring runs, relative to the fastest peer "
        "that reaches the accuracy of the row; above 1, the peer is faster.",
        "",
        *machine_lines(machines),
    ]
    families = growth.points(suites.get("growth", {}))
    if families:
        lines += ["## How time and memory grow", "", GROWTH, ""]
        for family, values in families.items():
            lines += growth.section(family, values)
    for suite, rows in sorted(suites.items()):
        lines += [f"## {suite}", ""]
        lines += [
            *chart(rows),
            "| row | contender | median s | spread s | runs | growth MB | error | ratio |",
        ]
        lines += ["|---|---|---|---|---|---|---|---|"]
        for name, row in rows.items():
            lines += row_lines(name, row)
        lines.append("")
    charts = {f"growth-{family}.svg": growth.svg(family, values) for family, values in families.items()}
    return {"measured.md": "\n".join(lines), **charts}


def latest(folder: Path) -> tuple[dict[str, dict[str, Any]], dict[str, dict[str, Any]]]:
    """Return the latest run of every row by suite and name, and the machine of each by its name."""
    suites: dict[str, dict[str, Any]] = {}
    machines: dict[str, dict[str, Any]] = {}
    for path in sorted(folder.glob("*-*.json")):  # SUITE-DATE.json, so that later dates replace earlier ones
        run = json.loads(path.read_text(encoding="utf-8"))
        for name, row in run["rows"].items():
            machine = row.get("machine", run["machine"])
            suites.setdefault(run["suite"], {})[name] = row
            machines[name] = machine
    return suites, machines


def summary(folder: Path) -> str:
    """Return the machines, and a line for every row of a suite that has a peer or predicted seconds."""
    suites, machines = latest(folder)
    lines = [*machine_lines(machines)]
    lines += ["| row | gramian seconds | peer: seconds | ratio | limit | growth, MB | predicted seconds |"]
    lines += ["|---|---|---|---|---|---|---|"]
    for suite in SUMMARISED:
        for name, row in suites.get(suite, {}).items():
            if row["contenders"]:
                lines.append(summary_line(name, row))
    return "\n".join(lines)


def summary_line(name: str, row: dict[str, Any]) -> str:
    """Return a row with its best peer, or the first if none is accurate; a ratio above its limit is bold."""
    ours, *peers = sorted(row["contenders"], key=lambda contender: not contender["ours"])
    best = next((peer for peer in peers if peer["name"] == row["best_peer"]), None)
    peer = best or next(iter(peers), None)
    ratio = "" if row["ratio"] is None or peer is None else f"{row['ratio']:.2g}"
    if ratio and row["limit"] and row["ratio"] > row["limit"]:
        ratio = f"**{ratio}**"
    growths = [contender["peak_growth"] for contender in (ours, peer) if contender]
    cells = (
        f"`{name}`",
        digits(ours["median"]) if ours["median"] else "",
        "" if peer is None else f"{peer['name']}: {peer_time(peer)}",
        ratio,
        "" if row["limit"] is None else digits(row["limit"]),
        "/".join("?" if one is None else f"{one / 1e6:,.0f}" for one in growths)
        if growths[0] is not None
        else "",
        "" if ours["predicted"] is None else digits(ours["predicted"]),
    )
    return f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |"


def digits(value: float) -> str:
    """Return a number with two digits, without an exponent where it is large."""
    return f"{float(f'{value:.2g}'):g}"


def peer_time(peer: dict[str, Any]) -> str:
    """Return the seconds of a peer, or why it has none, and whether it is too inaccurate."""
    if peer["failure"]:
        return peer["failure"].partition(":")[0]
    return digits(peer["median"]) + ("" if peer["accurate"] else ", error too large")


def machine_lines(machines: dict[str, dict[str, Any]]) -> list[str]:
    """Return the machines and versions, each with the rows that ran on it."""
    groups: dict[str, list[str]] = {}
    for name, machine in machines.items():
        packages = machine["packages"] | machine.get("peers", {})
        versions = ", ".join(f"{package} {version}" for package, version in packages.items())
        memory = f"{machine['memory_bytes'] / 2**30:.0f} GiB" if machine["memory_bytes"] else "unknown memory"
        text = f"{machine['cpu']}, {machine['cores']} cores, {memory}, Python {machine['python']}, {versions}"
        groups.setdefault(text, []).append(name)
    return [*(f"- {text}: {len(names)} rows" for text, names in groups.items()), ""]


def row_lines(name: str, row: dict[str, Any]) -> list[str]:
    """Return a line for gramian and for each peer of a row."""
    lines = []
    for contender in row["contenders"]:
        seconds = contender["seconds"]
        if not seconds:
            continue
        error = next(iter(contender["errors"].items()), None)
        ratio = f"**{row['ratio']:.2f}**" if contender["name"] == row["best_peer"] and row["ratio"] else ""
        accurate = "" if contender["accurate"] else " (too large)"
        cells = (
            f"`{name}`" if contender["ours"] else "",
            contender["name"][:MOST_NAMES],
            f"{statistics.median(seconds):.3g}",
            f"{min(seconds):.3g} to {max(seconds):.3g}" if len(seconds) > 1 else "",
            str(len(seconds)),
            f"{contender['peak_growth'] / 1e6:.0f}" if contender["peak_growth"] is not None else "",
            f"{error[0]} {error[1]:.1e}{accurate}" if error else "",
            ratio,
        )
        lines.append(f"| {' | '.join(cell.replace('|', '/') for cell in cells)} |")
    return lines


def chart(rows: dict[str, Any]) -> list[str]:
    """Return a list of the ratios of a suite, the smallest first, as bars of text that need no picture."""
    ratios = {name: row["ratio"] for name, row in rows.items() if row["ratio"]}
    if not ratios:
        return []
    width = max(map(len, ratios))
    bars = [
        f"{name:{width}}  {ratio:6.2f}  {'█' * max(1, round(10 * min(ratio, 4.0)))}"
        + (" slower" if ratio > 1 else "")
        for name, ratio in sorted(ratios.items(), key=lambda item: item[1])
    ]
    return [
        "```text",
        f"{'row':{width}}   ratio  (10 blocks: the fastest peer)",
        *bars,
        "```",
        "",
    ]


def replaced(path: Path, place: str, lines: str) -> None:
    """Write lines between the two comments of a page that name the place."""
    begin, end = f"<!-- {place} -->\n", f"<!-- end of {place} -->"
    head, _, rest = path.read_text(encoding="utf-8").partition(begin)
    path.write_text(f"{head}{begin}\n{lines}\n\n{end}{rest.partition(end)[2]}", encoding="utf-8")


if __name__ == "__main__":
    root = Path(__file__).parents[2]
    results = root / "benchmarks" / "results"
    ratios = shapes.ratios(latest(results)[0])
    replaced(root / "docs" / "benchmarks.md", "shapes", "\n".join(shapes.table(ratios)))
    replaced(root / "docs" / "benchmarks.md", "results", summary(results))
    replaced(root / "README.md", "shapes", "\n".join(shapes.sentences(ratios)))
    (root / "docs" / "images" / "speed.svg").write_text(shapes.svg(ratios) + "\n", encoding="utf-8")
