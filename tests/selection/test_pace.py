"""Messages about how far a search has come."""

import logging

import numpy as np
import pytest

from gramian.selection import pace as module
from gramian.selection.feature_groups import space_of
from gramian.selection.history import Step
from gramian.selection.pace import Pace, duration
from gramian.selection.plans import plan_of


class Clock:
    """Seconds that pass when a test says so."""

    def __init__(self):
        self.now = 0.0

    def perf_counter(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr(module, "time", clock)
    return clock


@pytest.fixture
def messages(caplog):
    caplog.set_level(logging.INFO, logger="gramian")
    return lambda: [record.getMessage() for record in caplog.records]


def plan(wanted="best", floating=False, patience=None, d=4):
    return plan_of(space_of(None, None, [f"x{j}" for j in range(d)]), wanted, True, floating, patience)


def step(*subset):
    return Step(1, "add", subset[-1:], subset, np.array([0.9, 0.96]), (), np.empty((0, 2)))


def test_steps_say_what_is_left(clock, messages):
    pace = Pace(plan(), verbose=False)
    clock.now = 40.0
    pace.step(step(2), 4)
    # Ten seconds for each candidate; 3 + 2 + 1 are left.
    assert messages() == ["1 of 4 features, 0.93, about 60 s left"]
    clock.now = 41.5
    pace.step(step(0, 2), 3)
    pace.step(step(0, 1, 2), 0)
    pace.step(step(0, 1, 2, 3), 0)
    assert messages()[1:] == [
        "2 of 4 features, 0.93, about 2 s left",
        "3 of 4 features, 0.93, less than 1 s left",
        "4 of 4 features, 0.93",
    ]


def test_steps_answered_from_memory_say_nothing_of_time(clock, messages):
    Pace(plan(), verbose=False).step(step(2), 0)
    assert messages() == ["1 of 4 features, 0.93"]


def test_messages_within_a_step_are_rare(clock, messages):
    pace = Pace(plan(d=10), verbose=False)
    for done in range(3, 11):
        clock.now += 0.2
        pace.within(done, 10)
    # Two were known before: each of the others takes 0.2 s; after this step 45 candidates are left.
    assert messages() == [
        "no feature yet, trying 5 of 10, about 10 s left",
        "no feature yet, trying 8 of 10, about 9 s left",
    ]


@pytest.mark.parametrize(
    ("floating", "patience", "surely"),
    [(False, None, "about"), (True, None, "at least"), (False, 2, "at most"), (True, 2, "about")],
)
def test_how_sure_it_is(clock, messages, floating, patience, surely):
    pace = Pace(plan(floating=floating, patience=patience), verbose=False)
    clock.now = 40.0
    pace.step(step(2), 4)
    # A floating search tries each of the moves to come back once: 2 + 3 + 4 more.
    assert messages() == [
        f"1 of 4 features, 0.93, {surely} {150 if floating else 60} s left".replace("150 s", "2 min")
    ]


def test_verbose_writes_to_standard_error(clock, capsys):
    pace = Pace(plan(), verbose=True)
    for done in range(1, 4):
        clock.now += 6.0
        pace.within(done, 4)
    pace.step(step(2), 4)
    assert capsys.readouterr().err.splitlines() == [
        "no feature yet, trying 2 of 4, about 48 s left",
        "1 of 4 features, 0.93, about 27 s left",
    ]
    quiet = Pace(plan(), verbose=False)
    clock.now += 60
    quiet.within(1, 4)
    quiet.step(step(2), 4)
    assert capsys.readouterr().err == ""


def test_duration():
    assert [duration(s) for s in (1, 99.4, 100, 5999, 6000, 360000)] == [
        "1 s", "99 s", "2 min", "100 min", "1.7 h", "100.0 h",
    ]  # fmt: skip
