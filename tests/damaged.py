"""Well-formed model files with wrong contents: ``from damaged import altered, refusals_of_damaged``."""

import copy
import warnings
from contextlib import contextmanager
from itertools import product

import numpy as np
import pytest

import gramian
from gramian.errors import ModelFileError
from gramian.models import model_file


def reseal(path, change=None, arrays=None, **entry):
    """Write a model file again with other content, arrays or entries, and the checksum that they have."""
    stored = model_file.read_model(path)
    content = copy.deepcopy(stored.content)
    content = content if change is None else change(content) or content
    whole = {"content": content, "format_version": model_file.FORMAT_VERSION, "versions": stored.versions}
    chunks = model_file.sealed(whole | entry, stored.arrays | (arrays or {}))
    path.write_bytes(b"".join(map(bytes, chunks)))


def places(value, path=()):
    """Every place in JSON, from the outside in."""
    if path:
        yield path
    inside = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in inside:
        yield from places(item, (*path, key))


def changed(content, path, new):
    content = copy.deepcopy(content)
    *outer, last = path
    at = content
    for key in outer:
        at = at[key]
    if new is DROPPED:
        del at[last]
    else:
        at[last] = new
    return content


DROPPED = object()
VALUES = [DROPPED, None, True, -1, 99, 0.5, float("nan"), "text", [], [1], {}, ["a"], {"$": "PCA"}]
ARRAYS = {
    "no number": lambda a: np.full(a.shape, np.nan),
    "transposed": lambda a: a.T.copy(),
    "one more": lambda a: np.concatenate([a, a[:1]]),
    "one less": lambda a: a[:-1],
    "deeper": lambda a: a[None],
    "a single number": lambda a: np.float64(3).reshape(()),
    "flags": lambda a: np.zeros(a.shape, dtype=bool),
}


ANY_LENGTH = ("rest", "constant_features_", "frequencies_", "face_scores_", "_runs", "_held_out")


@contextmanager
def altered(stored):
    """Let ``gramian.load`` read this, whatever the path."""
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(model_file, "read_model", lambda path: stored)
        yield


def refusals_of_damaged(model, data, tmp_path):
    """Open a model with one thing after the other changed; return how often that was refused.

    What is opened must map ``data``, or refuse that with an error of gramian.
    """
    refused = 0
    model.save(tmp_path / "m.gramian")
    stored = model_file.read_model(tmp_path / "m.gramian")
    cases = [*product(places(stored.content), VALUES), *product(stored.arrays, ARRAYS)]
    for where, new in cases[:: max(1, len(cases) // 80)]:
        content, arrays = stored.content, stored.arrays
        if where == ("$",):
            continue
        if isinstance(where, tuple):
            content = changed(content, where, new)
        else:
            array = arrays[where]
            arrays = arrays | {
                where: ARRAYS[new](array) if array.ndim and array.size else np.zeros((2, 3, 4))
            }
        try:
            with altered(model_file.StoredModel(content, arrays, stored.versions)):
                twin = gramian.load("m.gramian")
        except ModelFileError:
            refused += 1
            continue
        if isinstance(where, str) and not where.endswith(ANY_LENGTH):
            assert arrays[where].shape == stored.arrays[where].shape, (where, new)
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                (twin.transform if hasattr(twin, "transform") else twin.predict)(data)
        except gramian.errors.GramianError:
            pass
        except Exception as error:
            pytest.fail(f"{type(model).__name__}, {where} = {new!r}: {error!r}")
    return refused
