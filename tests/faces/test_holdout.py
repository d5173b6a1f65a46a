"""Which pictures are held out together, and the threshold that keeps most of them."""

import math

import numpy as np
import pytest

from gramian.faces import detector as holdout
from gramian.faces.detector import folds, keeping


def rng():
    return np.random.default_rng(0)


def test_every_picture_is_held_out_once_and_people_as_a_whole():
    people = np.repeat([f"p{i}" for i in range(13)], 4)
    parts, how = folds(52, people, rng())
    assert len(parts) == 5
    assert sorted(np.concatenate(parts).tolist()) == list(range(52))
    for part in parts:
        assert not set(people[part]) & set(np.delete(people, part))
    assert how == (
        "what counts as a face was measured on 52 pictures held out from fitting, whole people at a time, "
        "by 5 more fits"
    )


@pytest.mark.parametrize("people", [None, np.repeat("only one", 12)])
def test_without_people_pictures_are_held_out(people):
    parts, how = folds(12, people, rng())
    assert [len(part) for part in sorted(parts, key=len)] == [2, 2, 2, 3, 3]
    assert "whole pictures at a time" in how


def test_few_people_and_few_pictures():
    assert len(folds(6, np.array(list("aabbcc")), rng())[0]) == 3
    parts, how = folds(2, None, rng())
    assert (parts, how) == ([], "there are too few pictures to measure what counts as a face (2)")


def test_of_many_pictures_one_part_is_held_out(monkeypatch):
    monkeypatch.setattr(holdout, "MANY", 50)
    parts, how = folds(60, None, rng())
    assert [len(part) for part in parts] == [12]
    assert how.endswith("by 1 more fit")


def test_a_new_score_is_kept_as_often_as_asked():
    generator = rng()
    kept = [generator.normal() <= keeping(generator.normal(size=150), 0.9) for _ in range(4000)]
    assert abs(np.mean(kept) - 0.9) < 0.015


def test_of_few_scores_the_largest():
    assert keeping(np.array([3.0, 1.0, 2.0]), 0.99) == 3.0
    assert keeping(np.array([]), 0.99) == math.inf
