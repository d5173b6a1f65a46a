"""Telling a face from what is none."""

import math

import numpy as np
import pytest
from scipy.ndimage import gaussian_filter

from drawn import drawn_faces, drawn_others
from gramian import PCA
from gramian.faces import space as detector
from gramian.faces.space import COMPONENTS, HEIGHT, fit_detector, folds, keeping, sketches, unlikeness

FACES = drawn_faces(20, 4, size=(40, 48), seed=0).pictures
THINGS = drawn_others(20, size=(40, 48), seed=0).pictures


def sketch_by_definition(picture, values):
    """For a picture whose sides are twice those of the sketch."""
    small = picture.astype(float).reshape(24, 2, 20, 2).mean(axis=(1, 3))
    if values == "log":
        small = np.log1p(small)
    edges = gaussian_filter(small, 1, mode="mirror") - gaussian_filter(small, 2, mode="mirror")
    return edges / np.sqrt(np.mean(edges**2))


def test_sketches_and_unlikeness_are_their_definitions():
    for values in ["grey", "log"]:
        result = sketches(FACES[:3], values)
        expected = [sketch_by_definition(picture, values) for picture in FACES[:3]]
        np.testing.assert_allclose(result, expected, atol=1e-5)
    small = sketches(FACES, "grey")
    np.testing.assert_allclose(sketches(0.1 * FACES + 7, "grey"), small, atol=1e-4)
    np.testing.assert_allclose(sketches(FACES.astype(np.uint16) * 257, "grey"), small, atol=1e-4)
    np.testing.assert_allclose(sketches(FACES.repeat(3, axis=1).repeat(3, axis=2), "grey"), small, atol=1e-5)
    picture = np.random.default_rng(0).random((1, 60, 50))
    fine = picture.repeat(HEIGHT, axis=1).repeat(20, axis=2)
    down = fine.reshape(1, HEIGHT, 60, 20, 50).mean(axis=(2, 4))
    np.testing.assert_allclose(sketches(picture, "grey"), sketches(down, "grey"), atol=1e-5)
    assert sketches(np.zeros((2, 9, 8), dtype=np.uint8), "log").shape == (2, 9, 8)
    assert not sketches(np.full((1, 48, 40), 200, dtype=np.uint8), "grey").any()
    models = fit_detector(FACES, 0)
    assert [model.n_components_ for model in models] == [39, 39]
    product = np.ones(len(THINGS))
    for values in ("grey", "log"):
        fitted = sketches(FACES, values).reshape(80, -1).astype(float)
        given = sketches(THINGS, values).reshape(20, -1).astype(float)
        V = np.linalg.svd(fitted - fitted.mean(axis=0))[2][:39]
        c = given - fitted.mean(axis=0)
        product *= np.mean((c - c @ V.T @ V) ** 2, axis=1)
    np.testing.assert_allclose(unlikeness(models, THINGS), np.sqrt(product), rtol=1e-3)
    models = fit_detector(np.concatenate([FACES, THINGS, FACES[:, :, ::-1]]), 0)
    assert all(isinstance(model, PCA) and model.n_components_ == COMPONENTS for model in models)
    assert [model.n_components_ for model in fit_detector(FACES[:2], 0)] == [1, 1]
    models = fit_detector(FACES[:60], 0)
    new, things = unlikeness(models, FACES[60:]), unlikeness(models, THINGS)
    assert np.mean(things > new.max()) > 0.9
    flat = np.full((1, 48, 40), 90, dtype=np.uint8)
    assert unlikeness(models, flat)[0] == pytest.approx(1.0)


def test_pictures_in_blocks_are_those_one_by_one(monkeypatch):
    together = sketches(FACES[:5], "log")
    monkeypatch.setattr(detector, "BLOCK_BYTES", 1)
    np.testing.assert_array_equal(sketches(FACES[:5], "log"), together)


def rng():
    return np.random.default_rng(0)


def test_every_picture_is_held_out_once_and_people_as_a_whole():
    for people in [None, np.repeat("only one", 12)]:
        parts, how = folds(12, people, rng())
        assert [len(part) for part in sorted(parts, key=len)] == [2, 2, 2, 3, 3]
        assert "split by pictures" in how
    assert len(folds(6, np.array(list("aabbcc")), rng())[0]) == 3
    parts, how = folds(2, None, rng())
    assert (parts, how) == ([], "there are too few pictures to calibrate the limit for faces (2)")
    people = np.repeat([f"p{i}" for i in range(13)], 4)
    parts, how = folds(52, people, rng())
    assert len(parts) == 5
    assert sorted(np.concatenate(parts).tolist()) == list(range(52))
    for part in parts:
        assert not set(people[part]) & set(np.delete(people, part))
    assert how == (
        "the limit for faces was calibrated on 52 held-out pictures, split by people, with 5 more fits"
    )


def test_of_many_pictures_one_part_is_held_out(monkeypatch):
    monkeypatch.setattr(detector, "MANY", 50)
    parts, how = folds(60, None, rng())
    assert [len(part) for part in parts] == [12]
    assert how.endswith("with 1 more fit")


def test_a_new_score_is_kept_as_often_as_asked_and_of_few_the_largest():
    generator = rng()
    kept = [generator.normal() <= keeping(generator.normal(size=150), 0.9) for _ in range(4000)]
    assert abs(np.mean(kept) - 0.9) < 0.015
    assert keeping(np.array([3.0, 1.0, 2.0]), 0.99) == 3.0
    assert keeping(np.array([]), 0.99) == math.inf
