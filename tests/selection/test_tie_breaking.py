import numpy as np
import pytest
from sklearn.preprocessing import scale

from gramian.errors import ParameterError
from gramian.selection import tie_breaking
from gramian.selection.tie_breaking import noise_blocks, noisy, random_stream, unit_scale


def drawn(n, d):
    return np.random.RandomState(7).standard_normal((n, d))


@pytest.mark.parametrize("block_bytes", [1 << 28, 8 * 50 * 3, 1])
def test_the_noise_is_one_drawing_whatever_the_blocks(monkeypatch, block_bytes):
    monkeypatch.setattr(tie_breaking, "BLOCK_BYTES", block_bytes)
    monkeypatch.setattr(tie_breaking, "PIECE", 21)
    stream = np.random.RandomState(7)
    blocks = list(noise_blocks(stream, 50, 10))
    assert np.array_equal(np.concatenate([noise for _, noise in blocks]).T, drawn(50, 10))
    assert next(columns.start for columns, _ in blocks) == 0
    assert len(blocks) == (1 if block_bytes == 1 << 28 else -(-10 // max(1, block_bytes // 400)))


def test_the_stream_ends_where_one_drawing_ends(monkeypatch):
    monkeypatch.setattr(tie_breaking, "BLOCK_BYTES", 8 * 50 * 3)
    stream = np.random.RandomState(7)
    blocks = noise_blocks(stream, 50, 10)
    next(blocks)
    after = stream.standard_normal()
    other = np.random.RandomState(7)
    other.standard_normal((50, 10))
    assert after == other.standard_normal()
    # The other blocks do not depend on what was drawn in between.
    assert np.array_equal(np.concatenate([noise for _, noise in blocks]).T, drawn(50, 10)[:, 3:])


def test_columns_are_scaled_as_scikit_learn_scales_them():
    X = np.random.default_rng(0).standard_normal((40, 3)) * [1, 1e-8, 1e5] + [0, 0, 3e6]
    noise = np.random.RandomState(0).standard_normal((40, 3))
    scaled = scale(X, with_mean=False)
    expected = scaled + 1e-10 * np.maximum(1, np.abs(scaled).mean(axis=0)) * noise
    np.testing.assert_allclose(noisy(X.T, noise.T).T, expected, rtol=1e-14, atol=1e-14)


@pytest.mark.parametrize("factor", [1e-300, 1e-150, 1e150, 1e300])
def test_scale_does_not_matter(factor):
    x = np.random.default_rng(0).standard_normal((1, 30))
    np.testing.assert_allclose(unit_scale(x * factor), unit_scale(x), rtol=1e-13)


def test_a_far_offset_is_subtracted():
    x = np.random.default_rng(0).integers(0, 1000, (1, 50)).astype(np.float64)
    np.testing.assert_allclose(unit_scale(x + 2.0**30), unit_scale(x - x.mean()), rtol=1e-10)


def test_a_constant_column_is_zero():
    assert np.array_equal(unit_scale(np.full((1, 5), 0.1)), np.zeros((1, 5)))


def test_generators_of_all_kinds_start_a_stream():
    assert random_stream(3).standard_normal() == np.random.RandomState(3).standard_normal()
    state = np.random.RandomState(3)
    assert random_stream(state) is state
    pair = [random_stream(np.random.default_rng(1)).standard_normal() for _ in range(2)]
    assert pair[0] == pair[1]
    with pytest.raises(ParameterError, match=r"random_state='one' cannot start .* Give an integer"):
        random_stream("one")
