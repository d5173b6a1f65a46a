"""Well-formed model files with wrong contents: ``from damaged import refusals_of_damaged``."""

import copy
import warnings
from dataclasses import replace
from itertools import product

import numpy as np
import pytest

import gramian
from gramian import loading
from gramian.errors import ModelFileError
from gramian.store.model_file import read_model


def places(value, path=()):
    """Every place in JSON, from the outside in."""
    if path:
        yield path
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inside:
        yield from places(item, (*path, key))


def changed(header, path, new):
    header = copy.deepcopy(header)
    *outer, last = path
    at = header
    for key in outer:
        at = at[key]
    if new is DROPPED:
        del at[last]
    else:
        at[last] = new
    return header


DROPPED = object()
VALUES = [DROPPED, None, True, -1, 99, 0.5, float("nan"), "text", [], [1], {}, {"tuple": ["a"]}]
ARRAYS = {
    "no number": lambda a: np.full(a.shape, np.nan),
    "transposed": lambda a: a.T.copy(),
    "one more": lambda a: np.concatenate([a, a[:1]]),
    "one less": lambda a: a[:-1],
    "deeper": lambda a: a[None],
    "a single number": lambda a: np.float64(3).reshape(()),
    "flags": lambda a: np.zeros(a.shape, dtype=bool),
}


ANY_LENGTH = ("rest", "constant_features_", "frequencies_", "face_scores_")


def refusals_of_damaged(model, data, tmp_path, monkeypatch):
    """Open a model with one thing after the other changed; return how often that was refused.

    What is opened must map ``data``, or refuse that with an error of gramian.
    """
    refused = 0
    model.save(tmp_path / "m.gramian")
    stored = read_model(tmp_path / "m.gramian")
    cases = [*product(places(stored.header), VALUES), *product(stored.arrays, ARRAYS)]
    for where, new in cases[:: max(1, len(cases) // 80)]:
        if isinstance(where, tuple):
            case = replace(stored, header=changed(stored.header, where, new))
        else:
            array = stored.arrays[where]
            wrong = ARRAYS[new](array) if array.ndim and array.size else np.zeros((2, 3, 4))
            case = replace(stored, arrays=stored.arrays | {where: wrong})
        monkeypatch.setattr(loading, "read_model", lambda path, case=case: case)
        try:
            twin = gramian.load("m.gramian")
        except ModelFileError:
            refused += 1
            continue
        if isinstance(where, str) and not where.endswith(ANY_LENGTH):
            assert case.arrays[where].shape == stored.arrays[where].shape, (where, new)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                (twin.transform if hasattr(twin, "transform") else twin.predict)(data)
        except gramian.errors.GramianError:
            pass
        except Exception as error:
            pytest.fail(f"{type(model).__name__}, {where} = {new!r}: {error!r}")
    monkeypatch.undo()
    return refused
