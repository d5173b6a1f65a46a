"""The space of faces against the definition of PCA, and what is asked of it with bad input."""

import os
import stat

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

import gramian
from drawn import drawn_faces, drawn_others
from gramian.errors import DataError, ParameterError
from gramian.faces import FaceSpace
from gramian.faces.face_images import LIGHTS, relight

FACES = drawn_faces(12, 5, size=(20, 24), seed=0)
NEW = drawn_faces(4, 2, size=(20, 24), seed=1)


def by_definition(fitted, new, counts):
    """||x - x~|| / ||x - mean|| in float64, from the singular vectors of the centred pictures."""
    A = fitted.reshape(len(fitted), -1).astype(float)
    X = new.reshape(len(new), -1).astype(float) - A.mean(axis=0)
    V = np.linalg.svd(A - A.mean(axis=0), full_matrices=False)[2]
    left = [np.linalg.norm(X - X @ V[:r].T @ V[:r], axis=1) for r in counts]
    return np.stack(left, axis=1) / np.linalg.norm(X, axis=1)[:, None]


def test_vectors_and_errors_against_the_definition():
    for light in LIGHTS:
        space = FaceSpace(40, light=light).fit(FACES)
        fitted, new = relight(FACES.pictures, light), relight(NEW.pictures, light)
        counts = [1, 5, 40, 5]
        np.testing.assert_allclose(space.errors(NEW, counts), by_definition(fitted, new, counts), atol=1e-5)
        assert space.mean_face_.shape == (24, 20)
        np.testing.assert_allclose(space.mean_face_, fitted.mean(axis=0), rtol=1e-4, atol=1e-4)
        scores = space.transform(FACES)
        assert scores.dtype == np.float32
        np.testing.assert_allclose(scores.var(axis=0, ddof=1), space.eigenvalues_, rtol=1e-3)
    space = FaceSpace(30).fit(FACES)
    x = NEW.pictures.astype(float)
    for count in (3, 30):
        back = space.reconstruct(NEW, count)
        assert back.shape == x.shape
        size = np.linalg.norm((x - space.mean_face_).reshape(8, -1), axis=1)
        error = np.linalg.norm((x - back).reshape(8, -1), axis=1) / size
        np.testing.assert_allclose(space.errors(NEW, [count])[:, 0], error, atol=1e-5)
    np.testing.assert_array_equal(space.reconstruct(NEW), space.reconstruct(NEW, 30))
    assert space.errors(space.mean_face_[None], [2]).tolist() == [[0.0]]


def test_fingerprints_and_files_are_those_of_what_makes_vectors(tmp_path):
    first = FaceSpace(6).fit(FACES)
    assert first.fingerprint_ == FaceSpace(6).fit(FACES.pictures, people=FACES.people).fingerprint_
    others = [
        FaceSpace(7).fit(FACES),
        FaceSpace(6, light="equalise").fit(FACES),
        FaceSpace(6).fit(FACES.take(slice(1, None))),
    ]
    assert len({first.fingerprint_, *(space.fingerprint_ for space in others)}) == 4
    space = FaceSpace(6, light="equalise").fit(FACES)
    space.save(tmp_path / "faces.gramian")
    twin = gramian.load(tmp_path / "faces.gramian")
    assert isinstance(twin, FaceSpace)
    assert twin.get_params() == space.get_params()
    np.testing.assert_array_equal(twin.transform(NEW), space.transform(NEW))
    np.testing.assert_array_equal(twin.face_score(NEW), space.face_score(NEW))
    np.testing.assert_array_equal(twin.reconstruct(NEW, 3), space.reconstruct(NEW, 3))
    for name in ("fingerprint_", "face_threshold_", "n_people_", "picture_shape_", "notes_"):
        assert getattr(twin, name) == getattr(space, name)
    names = [f"Hildegard {person}" for person in FACES.people]
    FaceSpace(6).fit(FACES.pictures, people=names).save(tmp_path / "faces.gramian")
    assert b"Hildegard" not in (tmp_path / "faces.gramian").read_bytes()


def test_plans_shares_and_most_new_faces_are_faces():
    faces = drawn_faces(25, 4, size=(40, 48), seed=0)
    space = FaceSpace(20).fit(faces)
    assert space.face_keep_ == 0.99
    assert len(space.face_scores_) == 100
    assert np.mean(space.face_scores_ <= space.face_threshold_) >= 0.99
    assert np.mean(space.face_score(drawn_faces(10, 3, size=(40, 48), seed=7)) <= space.face_threshold_) > 0.9
    assert np.mean(space.face_score(drawn_others(20, size=(40, 48))) > space.face_threshold_) > 0.9
    assert "split by people" in space.notes_[-1]
    assert "split by pictures" in FaceSpace(20).fit(faces.pictures).notes_[-1]
    scores = [FaceSpace(4, light=light).fit(FACES).face_score(NEW) for light in LIGHTS]
    for score in scores[1:]:
        np.testing.assert_array_equal(score, scores[0])
    space = FaceSpace().fit(FACES)
    shares = space.explained_variance_ratio_
    assert 0.95 <= shares.sum() < 0.95 + shares[-1] + 1e-6
    assert (space.n_pictures_, space.n_people_, space.n_components_) == (60, 12, len(shares))
    space = FaceSpace(40).fit(FACES)
    assert space.decomposition_.components_.dtype == np.float32
    rows = FACES.pictures.reshape(60, -1).astype(float)
    exact = np.linalg.svd(rows - rows.mean(axis=0), full_matrices=False)[1]
    np.testing.assert_allclose(space.eigenvalues_, exact[:40] ** 2 / 59, rtol=1e-9)
    for given in ({}, {"light": "equalise", "n_components": 5}):
        space = FaceSpace(**given)
        plan = space.plan(FACES)
        assert not hasattr(space, "decomposition_")
        done = space.fit(FACES).plan_
        assert (plan.solver, plan.operator, plan.reason) == (done.solver, done.operator, done.reason)
        assert [step.name for step in plan.steps] == [step.name for step in done.steps]
        assert (plan.bytes, plan.seconds) == (done.bytes, done.seconds)
    with pytest.raises(ParameterError, match=r"is not known\. Allowed:"):
        FaceSpace(light="dim").plan(FACES)
    with pytest.raises(ParameterError, match="n_components=99 but 60 rows x 480 columns have at most 60"):
        FaceSpace(99).plan(FACES)


def test_numbers_of_components_that_pictures_have():
    space = FaceSpace(1).fit(FACES.take(slice(0, 2)))
    assert space.face_threshold_ == np.inf
    assert space.notes_[-1] == "there are too few pictures to calibrate the limit for faces (2)"
    with pytest.raises(DataError, match=r"There is 1 picture, but a FaceSpace needs a minimum of 2\."):
        FaceSpace().fit(FACES.take([0]))
    same = FACES.pictures[:1].repeat(5, axis=0)
    with pytest.raises(DataError, match=r"All 5 pictures are the same\. Give different ones\."):
        FaceSpace(1).fit(same)
    grey = np.arange(5)[:, None, None] * np.ones((5, 24, 20), dtype=np.uint8)
    with pytest.raises(DataError, match="All 5 pictures are the same after light="):
        FaceSpace(1, light="equalise").fit(grey)
    space = FaceSpace(5).fit(PICTURES)
    for given in (3, np.int64(3), (5, 1, 5), np.array([2, 4])):
        assert space.errors(PICTURES, given).shape == (30, np.size(given))
    for given, message in (
        (0, "n_components=0 must be a whole number from 1 to 5"),
        (2.0, r"n_components=2\.0 must be"),
        ([True], "n_components=True must be"),
        ([1, 6], "n_components=6 must be"),
        ("12", "n_components='12' must be"),
        (None, "n_components=None must be"),
    ):
        with pytest.raises(ParameterError, match=message):
            space.errors(PICTURES, given)


def test_blocks_change_nothing(monkeypatch):
    space = FaceSpace(10, light="equalise").fit(FACES)
    whole = space.transform(FACES), space.errors(FACES, [2, 9]), space.face_score(FACES)
    monkeypatch.setattr("gramian.faces.space.BLOCK_BYTES", 4 * 480 * 7)
    parts = space.transform(FACES), space.errors(FACES, [2, 9]), space.face_score(FACES)
    for one, other in zip(whole, parts, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-4)


def test_any_depth_and_kind_of_array(array_kind):
    space = FaceSpace(5).fit(FACES)
    deep = FACES.pictures.astype(np.uint16) * 257
    np.testing.assert_allclose(space.transform(deep), space.transform(FACES), atol=0.01)
    other = array_kind.make(FACES.pictures.astype(float))
    np.testing.assert_allclose(space.transform(other), space.transform(FACES), atol=0.01)


def test_what_is_not_fitted_says_so():
    space = FaceSpace(3)
    for ask in (
        lambda: space.transform(NEW),
        lambda: space.face_score(NEW),
        lambda: space.reconstruct(NEW),
        lambda: space.reconstruct(NEW, 2),
        lambda: space.errors(NEW, 2),
        lambda: space.get_feature_names_out(),
        lambda: space.save("m.gramian"),
    ):
        with pytest.raises(NotFittedError, match="not fitted yet"):
            ask()
    properties = [name for name, value in vars(FaceSpace).items() if isinstance(value, property)]
    assert {"rank_", "plan_", "n_features_in_"} <= set(properties)
    for name in properties:
        assert not hasattr(space, name)
        with pytest.raises(NotFittedError, match="not fitted yet"):
            getattr(space, name)


@pytest.mark.skipif(os.name != "posix", reason="about POSIX permissions")
def test_a_model_can_be_read_by_its_owner_only(tmp_path):
    FaceSpace(2).fit(FACES).save(tmp_path / "m.gramian")
    assert stat.S_IMODE((tmp_path / "m.gramian").stat().st_mode) == 0o600


def test_parameters_pictures_and_people_that_do_not_fit():
    for parameters, match in (
        ({"light": "day"}, r"is not known\. Allowed:"),
        ({"n_components": 61}, "n_components=61 but 60 rows x 480"),
        ({"n_components": 1.5}, r"n_components=1\.5 is not a positive"),
        ({"memory_limit": "much"}, r"is not an amount of memory\. Give"),
        ({"random_state": "x"}, "cannot start a random number"),
    ):
        with pytest.raises(ParameterError, match=match):
            FaceSpace(**parameters).fit(FACES)
    for wrong in (0, -1, 2.5, True, 6):
        with pytest.raises(ParameterError, match=r"must be a whole number from 1 to 5\."):
            FaceSpace(5).fit(FACES).reconstruct(NEW, wrong)
    space = FaceSpace(5).fit(FACES)
    for method in (space.transform, space.reconstruct, space.face_score):
        with pytest.raises(DataError, match=r"The pictures are 24x28 \(width x height\), but the model"):
            method(drawn_faces(1, 1, size=(24, 28)))
    with pytest.raises(DataError, match=r"people has shape \(3,\) for 60 pictures\. Give one name for"):
        FaceSpace().fit(FACES.pictures, people=["a", "b", "c"])
    assert FaceSpace(3).fit(FACES.pictures, people=[None, 7, "a"] * 20).n_people_ == 3
    assert FaceSpace(3).fit(FACES.pictures, people=np.repeat(np.arange(12), 5)).n_people_ == 12


PICTURES = np.random.default_rng(0).random((30, 6, 5), dtype=np.float32)
