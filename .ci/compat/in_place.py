"""A pytest plugin: scikit-learn's own tests of the classes that ``gramian.connect.sklearn`` stands in for.

``make compat`` calls it. Every test that is left out is in ``left_out.toml`` with its reason; the report says
how many of the applicable ones pass.
"""

import tomllib
from pathlib import Path

from gramian.connect.sklearn import put_in_place

put_in_place()

LEFT_OUT = tomllib.loads((Path(__file__).parent / "left_out.toml").read_text())
LEAST = 0.95
left_out = {"private": 0, "differs": 0}


def reason(item):
    """Return the kind of reason a test is left out for, or None."""
    for kind in left_out:
        for name in LEFT_OUT[kind]:
            if item.name == name or item.name.startswith(f"{name}["):
                return kind
    return None


def pytest_collection_modifyitems(config, items):
    kept, dropped = [], []
    for item in items:
        kind = reason(item)
        (kept if kind is None else dropped).append(item)
        if kind is not None:
            left_out[kind] += 1
    config.hook.pytest_deselected(items=dropped)
    items[:] = kept


def pytest_terminal_summary(terminalreporter):
    counts = {kind: len(terminalreporter.stats.get(kind, [])) for kind in ("passed", "failed", "error")}
    applicable = sum(counts.values()) + left_out["differs"]
    share = counts["passed"] / max(applicable, 1)
    terminalreporter.write_line(
        f"scikit-learn's own tests on gramian.connect.sklearn: {counts['passed']} of {applicable} applicable "
        f"ones pass ({share:.1%}); {left_out['differs']} differ by design and {left_out['private']} are "
        "about scikit-learn's private parts (.ci/compat/left_out.toml)"
    )


def pytest_sessionfinish(session, exitstatus):
    stats = session.config.pluginmanager.get_plugin("terminalreporter").stats
    passed = len(stats.get("passed", []))
    if exitstatus == 0 and passed < LEAST * (passed + left_out["differs"]):
        session.exitstatus = 1
