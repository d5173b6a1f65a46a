"""Records of steps and the table they print."""

import dataclasses
import json
import math

import numpy as np
import pytest

from gramian.select.wrappers import History, SearchStep
from gramian.statistics.candidates import Choice

NAMES = ("red", "green", "blue", "grey")


def step(number, action, moved, subset, scores, **more):
    tried = {"candidates": ((0,), (3,)), "candidate_scores": np.array([scores, scores])}
    known = {"number": number, "action": action, "moved": moved} | tried
    return SearchStep.in_folds(subset, len(subset), np.array(scores), **known | more)


def record(**more):
    steps = (
        step(1, "add", (1,), (1,), [0.5, 0.7]),
        step(2, "add", (0, 3), (0, 1, 3), [0.8, 0.9]),
        step(3, "keep", (), (0, 1, 3), [0.8, 0.9]),
        step(4, "remove", (1,), (0, 3), [0.7, 0.8]),
    )
    return History(
        **{"tried": steps, "names": NAMES, "about": "A search", "choice": Choice(1, "it won")} | more
    )


def test_a_history_is_a_sequence_of_steps_that_say_what_happened():
    first = record()[0]
    assert (first.size, first.mean, first.standard_error) == (1, pytest.approx(0.6), pytest.approx(0.1))
    assert repr(first) == "<Step 1: add {1}, 1 feature: 0.6 ± 0.1>"
    single = step(1, "add", (1,), (1, 2), [0.5])
    assert repr(single) == "<Step 1: add {1}, 2 features: 0.5>"
    assert math.isnan(single.standard_error)
    with pytest.raises(dataclasses.FrozenInstanceError, match="number"):
        first.number = 0
    result = record()
    assert len(result) == 4
    assert result[-1] is result.tried[3]
    assert result[1:3] == result.tried[1:3]
    assert list(result) == list(result.tried)
    assert result.chosen is result[1]
    assert result.named((3, 0)) == ("grey", "red")


def test_tables_say_what_was_chosen():
    assert str(record()) == repr(record())
    assert str(record()).splitlines() == [
        "A search",
        "",
        "   features   score  ± s.e.",
        "          1  0.6000  0.1000  + green",
        "*         3  0.8500  0.0500  + red, grey",
        "          2  0.7500  0.0500  - green",
        "",
        "* 3 features (red, green, grey): it won.",
        "The best of many scores is optimistic: cross_validate the selector and estimator.",
    ]
    assert record()._repr_html_().startswith("<div>A search")
    single = (step(0, "start", (), (0, 1), [0.5]),)
    text = str(record(tried=single, choice=Choice(0, "it won")))
    assert "s.e." not in text
    assert "  red, green" in text


def test_scores_of_any_size_are_aligned_and_long_tables_shortened():
    for scores, written in [
        ([-2861.2, -2860.8], "-2,861"),
        ([-3.1e-9, -3.1e-9], "-3.100e-09"),
        ([0.0, 0.0], "0.000e+00"),
        ([-1.5e9, -1.5e9], "-1.500e+09"),
        ([0.0015, 0.0015], "0.001500"),
        ([1.0, 1.0], "1.000"),
    ]:
        result = record(tried=(step(1, "add", (1,), (1,), scores),), choice=Choice(0, "it won"))
        assert f"  {written}  " in str(result)
    steps = tuple(step(k, "add", (0,), tuple(range(k)), [k / 1000] * 2) for k in range(1, 301))
    names = tuple(f"x{k}" for k in range(300))
    lines = str(History(steps, "Long", Choice(149, "it won"), names=names)).splitlines()
    assert lines[2 + 1 + 60] == "... and 240 more"
    assert "* 150 features (x0, x1, x2," in "\n".join(lines)
    assert max(map(len, lines)) <= 150


def test_dicts_and_frames_hold_everything():
    plain = json.loads(json.dumps(record().to_dict(), allow_nan=False))
    assert plain["chosen"] == {"step": 2, "why": "it won", "features": ["red", "green", "grey"]}
    second = plain["steps"][1]
    assert second["moved"] == ["red", "grey"]
    assert second["fold_scores"] == [0.8, 0.9]
    assert second["candidates"] == [["red"], ["grey"]]
    assert second["candidate_scores"] == [[0.8, 0.9], [0.8, 0.9]]
    single = record(tried=(step(1, "add", (1,), (1,), [0.5]),), choice=Choice(0, ""))
    assert single.to_dict()["steps"][0]["standard_error"] is None
    pandas = pytest.importorskip("pandas")
    frame = record().to_frame()
    assert frame.index.tolist() == [1, 2, 3, 4]
    assert frame["action"].tolist() == ["add", "add", "keep", "remove"]
    assert frame.loc[2, "moved"] == ("red", "grey")
    assert frame.loc[2, "features"] == ("red", "green", "grey")
    assert frame["size"].tolist() == [1, 3, 3, 2]
    pandas.testing.assert_series_equal(
        frame["score"], pandas.Series([0.6, 0.85, 0.85, 0.75], index=frame.index, name="score")
    )
