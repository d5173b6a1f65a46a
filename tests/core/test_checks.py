"""What parameters may be is said in the same words everywhere."""

import math

import numpy as np
import pytest

from gramian.core import checks
from gramian.errors import ParameterError


def test_integers_choices_and_texts():
    assert checks.check_choice("solver", "gram", ("gram", "full")) == "gram"
    with pytest.raises(ParameterError, match=r"is not known\. Allowed:"):
        checks.check_choice("solver", "gramm", ("gram", "full"))
    told = {999: "999 bytes", 999.6: "1 kB", 1e9: "1 GB", 999.4e9: "999 GB", 1e12: "1 TB", 8e16: "80,000 TB"}
    assert {size: checks.amount(size) for size in told} == told
    for name in ["Anna Maria", "王小明", "محمد\u200cعلی", "Пётр", "👩🏽\u200d🔬", "\ufffd"]:
        assert checks.shown(name) == name
    assert checks.shown("\x1b[31mred\nfake  line\u202e\udcff") == r"\x1b[31mred\nfake  line\u202e\udcff"
    assert checks.shown(5) == "5"
    assert checks.shown("a\ufffe\U0010ffffb\ufdd0") == r"a\ufffe\U0010ffffb\ufdd0"
    assert checks.shown_lines("\x1bred\nfake\x9b") == "\\x1bred\nfake\\x9b"
    assert checks.check_integer("k", np.int32(3), 1, 3) == 3
    for value in (True, 3.0, "3", None, 0, -1):
        with pytest.raises(ParameterError, match=r"must be a whole number of at least 1\."):
            checks.check_integer("k", value)
    with pytest.raises(ParameterError, match=r"k=4 must be a whole number from 1 to 3\. Give fewer\."):
        checks.check_integer("k", 4, 1, 3, "Give fewer.")
    assert checks.check_seed("--random-state", 2**32 - 1) == 2**32 - 1
    with pytest.raises(
        ParameterError, match=r"--random-state -1 must be a whole number from 0 to 4294967295\."
    ):
        checks.check_seed("--random-state", -1)
    assert checks.check_number("gamma", np.float32(0.5), above=0.0) == 0.5
    for value in (0.0, math.inf, math.nan, "1", True, None):
        with pytest.raises(ParameterError, match=r"must be a number above 0\."):
            checks.check_number("gamma", value, above=0.0)
    with pytest.raises(ParameterError, match=r"far=1\.0 must be a number above 0 and below 1\."):
        checks.check_share("far", 1.0)
    with pytest.raises(ParameterError, match=r"c=inf must be a finite number\."):
        checks.check_number("c", math.inf)
    assert [len(range(10)[part]) for part in checks.slices(10, 4)] == [4, 4, 2]
    assert checks.slices(0, 4) == []
    for length, most in ((0, 3), (1, 3), (7, 1), (7, 3), (1000, 64)):
        places = checks.evenly(length, most)
        assert places == sorted(set(places))
        assert len(places) == min(length, most)


def test_keys_that_json_has_not_become_text():
    assert checks.plain({3: 1, (1, 2): np.nan, np.int64(4): range(2)}) == {
        "3": 1,
        "(1, 2)": None,
        "4": [0, 1],
    }
