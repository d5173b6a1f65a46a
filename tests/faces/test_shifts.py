"""Moved copies, and what moving does to scores."""

import numpy as np
import pytest

from drawn import drawn_faces
from gramian.errors import ParameterError
from gramian.faces import FaceSpace
from gramian.faces.face_images import COPIES, moved, shift_covariance, shift_pixels, with_moved


def test_shares_are_pixels_and_copies_moved_with_the_edge_repeated():
    for shift in [-0.01, 0.26, float("nan"), "far", None, True]:
        with pytest.raises(ParameterError, match=r"must be a number of at least 0 and of at most 0\.25\."):
            shift_pixels(shift, 100)
    assert [shift_pixels(shift, 50) for shift in (0, 0.001, 0.04, 0.25)] == [0, 1, 2, 12]
    for pixels in [1, 3, 9]:
        pictures = np.random.default_rng(0).random((2, 6, 5), dtype=np.float32)
        padded = np.pad(pictures, ((0, 0), (pixels, pixels), (pixels, pixels)), mode="edge")
        right, left, down, up = moved(pictures, pixels)
        inside = slice(pixels, -pixels)
        np.testing.assert_array_equal(right, padded[:, inside, :5])
        np.testing.assert_array_equal(left, padded[:, inside, -5:])
        np.testing.assert_array_equal(down, padded[:, :6, inside])
        np.testing.assert_array_equal(up, padded[:, -6:, inside])
        assert with_moved(pictures, pixels).shape == (2 * COPIES, 6, 5)
        assert with_moved(pictures, 0) is pictures


def test_the_covariance_is_the_mean_over_all_moves(monkeypatch):
    monkeypatch.setattr("gramian.faces.face_images.BLOCK", 2)
    rng = np.random.default_rng(0)
    pictures, axes = rng.random((5, 6, 5), dtype=np.float32), rng.standard_normal((30, 3))

    def transform(block):
        return block.reshape(len(block), -1) @ axes

    changes = [transform(copy) - transform(pictures) for copy in moved(pictures, 2)]
    expected = sum(np.outer(d, d) for change in changes for d in change) / 20
    np.testing.assert_allclose(shift_covariance(transform, pictures, 2), expected, rtol=1e-5)
    assert shift_covariance(transform, pictures, 0) is None


def test_a_model_learns_them(tmp_path):
    for kernel in [None, "rbf"]:
        import gramian

        faces = drawn_faces(5, 4, size=(24, 28))
        space = FaceSpace(12, shift=0.04, kernel=kernel).fit(faces)
        assert space.n_pictures_ == 20
        assert space.decomposition_.n_samples_ == 100
        assert "copies of the pictures shifted by 1 pixel" in " ".join(space.notes_)
        shifts = space.shift_covariance_
        assert shifts.shape == (12, 12)
        change = space.transform(
            next(moved(np.asarray(faces.pictures, dtype=np.float32), 1))
        ) - space.transform(faces)
        assert np.trace(shifts) == pytest.approx((change**2).sum(axis=1).mean(), rel=1)
        space.save(tmp_path / "m.gramian")
        np.testing.assert_array_equal(gramian.load(tmp_path / "m.gramian").shift_covariance_, shifts)
        assert FaceSpace(4).fit(faces).shift_covariance_ is None
