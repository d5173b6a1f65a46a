"""``examples/processes.py``: false alarms, delays and columns of the faults of its plant."""

import re
from pathlib import Path

import numpy as np
import pytest

import helpers
from gramian import PCA, Monitor

SCRIPT = Path(__file__).parents[2] / "examples" / "processes.py"


@pytest.fixture(scope="module")
def script():
    return helpers.script("examples/processes.py")


def test_faults_of_the_plant_are_found_soon_and_by_their_columns(script):
    monitor = Monitor(PCA(0.9, scale="unit"), consecutive=3).fit(script.plant(1000, 1))
    named = []
    for fault, (_, columns) in script.FAULTS.items():
        events = monitor.statistics(script.plant(300, 5, fault, onset=100)).events
        late = [i for i, run in enumerate(events.runs) if run.stop > 100]
        assert late, fault
        assert events.runs[late[0]].start < 220
        named.append(bool({events[f"variable {place}"][late[0]] for place in (1, 2, 3)} & columns))
    assert named == [True] * 3
    # The same seed is the same plant, up to the fault.
    same = script.plant(300, 5, "drift", onset=100) - script.plant(300, 5)
    assert np.flatnonzero(np.abs(same).max(axis=1))[0] == 101


@pytest.mark.walk
def test_the_script_prints_rates_and_events(script, capsys):
    script.main()
    text = capsys.readouterr().out
    rate = float(text.partition("later normal rows: ")[2].partition(" %")[0])
    assert 0.5 < rate < 2
    assert "per 1,000 rows" in text
    assert text.count("of at least 3 alarms in a row") == 3
    # The page shows what is printed.
    page = (SCRIPT.parents[1] / "docs" / "processes.md").read_text()
    for rule, events, delay in re.findall(r"^\| (\d+) \| (\d+) \| (\d+) \|$", page, re.M):
        assert re.search(rf"^ +{rule} +{events} +[\d.]+ +{delay}$", text, re.M), rule
    for name, *shares in re.findall(r"^\| (step|drift) \| (.+) \| (.+) \| (.+) \| (.+) \|$", page, re.M):
        printed = re.search(rf"^{name} +(.+)$", text, re.M)[1].split()
        assert [float(share) for share in shares] == [float(share) for share in printed], name
