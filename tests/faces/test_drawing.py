"""One drawn face and its parameters."""

from dataclasses import fields, replace

import numpy as np
import pytest

from gramian.faces.drawing import (
    Canvas,
    Expression,
    Identity,
    Light,
    Pose,
    as_pixels,
    bar,
    draw_face,
    ellipse,
)


def change(one, other):
    return float(np.abs(one.astype(float) - other).mean())


def test_a_face_has_the_size_and_kind_asked_for():
    picture = draw_face(Identity(), size=(92, 112))
    assert picture.shape == (112, 92)
    assert picture.dtype == np.uint8
    assert 20 < picture.mean() < 235


def test_a_face_at_rest_under_even_light_is_symmetric():
    picture = draw_face(Identity(hair=0.2), light=Light(azimuth=0, strength=0), size=(46, 56)).astype(int)
    inside = picture[22:48]
    assert np.abs(inside - inside[:, ::-1]).max() <= 1


@pytest.mark.parametrize("name", [field.name for field in fields(Identity)])
def test_every_trait_shows(name):
    beard = {"hair": 0.2} if name in ("beard", "moustache") else {}
    who = Identity(**beard)
    value = getattr(who, name)
    other = replace(who, **{name: value + (0.5 if name in ("beard", "moustache", "glasses") else 0.05)})
    assert change(draw_face(who, size=(92, 112)), draw_face(other, size=(92, 112))) > 0.02


@pytest.mark.parametrize("name", [field.name for field in fields(Expression)])
def test_every_part_of_an_expression_shows(name):
    expression = Expression(**{name: 0.8})
    assert (
        change(draw_face(Identity(), size=(92, 112)), draw_face(Identity(), expression, size=(92, 112)))
        > 0.02
    )


def test_light_from_the_right_lights_the_right():
    picture = draw_face(Identity(), light=Light(azimuth=50, elevation=0, strength=0.8)).astype(float)
    assert picture[20:45, 25:38].mean() > picture[20:45, 8:21].mean() + 30
    assert draw_face(Identity(), light=Light(exposure=0.5)).mean() < 0.6 * draw_face(Identity()).mean()


def test_pose_moves_the_picture():
    still = draw_face(Identity(), light=Light(strength=0), size=(46, 56)).astype(int)
    moved = draw_face(Identity(), light=Light(strength=0), pose=Pose(right=4 / 56), size=(46, 56)).astype(int)
    assert change(moved[:, 8:], still[:, 6:-2]) < 1e-9
    turned = draw_face(Identity(), light=Light(strength=0), pose=Pose(turn=5, scale=1.1), size=(46, 56))
    assert change(turned, still) > 3


def test_edges_are_smooth():
    canvas = Canvas((40, 40))
    canvas.tone[:] = 0
    canvas.lay(ellipse(canvas.x, canvas.y, 0.6, 0.6), 1.0)
    # The area of the disc, which jagged edges would miss by more.
    assert canvas.tone.sum() * canvas.pixel**2 == pytest.approx(np.pi * 0.36, rel=4e-3)
    assert ((canvas.tone > 0.1) & (canvas.tone < 0.9)).any()


def test_distances_to_a_bar():
    x, y = np.array([0.0, 2.0, 2.0, 0.5]), np.array([0.0, 0.0, 3.0, 1.5])
    np.testing.assert_allclose(bar(x, y, 1.0, 2.0), [-1, 1, np.sqrt(2), -0.5])


def test_noise_only_where_it_is_asked_for():
    tone = np.full((30, 30), 0.5)
    assert set(as_pixels(tone, None).ravel()) == {128}
    assert 1.7 < as_pixels(tone, np.random.default_rng(0)).std() < 2.3
