"""benchmarks/faces_evaluation.py against its protocol written out, and the figures on real faces."""

import dataclasses
import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from PIL import Image

from drawn import drawn_faces, drawn_others
from gramian.errors import DataError, ParameterError
from gramian.faces import FaceSpace, Recogniser, read_faces
from gramian.models.inputs import generators
from helpers import script

benchmark = script("benchmarks/faces_evaluation.py")
SIZE = (20, 24)


@pytest.fixture(scope="module")
def faces():
    return drawn_faces(14, 6, size=SIZE, seed=2)


@pytest.fixture(scope="module")
def result(faces):
    return benchmark.evaluate_faces(
        faces, n_components=[5, 20], splits=2, leave_out=3, far=0.1, others=drawn_others(15, size=SIZE)
    )


def test_figures_are_those_of_the_protocol(faces, result):
    people, names = benchmark.population(faces, 3)[0], np.array(faces.people)
    rank1, equal, named, strangers, told, kept = [], [], [], [], [], []
    for rng in generators(0, 3)[:2]:
        space = FaceSpace(20, light=benchmark.LIGHT, random_state=rng)
        chosen = benchmark.draw_split(people, 3, rng)
        space.fit(faces.take(chosen.enrolled))
        own, asked = space.transform(faces.take(chosen.enrolled)), faces.take(chosen.tested)
        recogniser = Recogniser(far=0.1).fit(own, names[chosen.enrolled], space.eigenvalues_)
        answers = recogniser.identify(space.transform(asked))
        likeness = recogniser.similarity(space.transform(asked))
        first = [recogniser.people_[i] for i in likeness.argmax(axis=1)]
        rank1.append(np.mean([a == b for a, b in zip(first, asked.people, strict=True)]))
        named.append(np.mean([a.person == who for a, who in zip(answers, asked.people, strict=True)]))
        unknown = space.transform(faces.take(chosen.strangers))
        strangers.append(np.mean([a.person is not None for a in recogniser.identify(unknown)]))
        same = np.array([[who == p for p in recogniser.people_] for who in asked.people])
        impostor = np.concatenate([likeness[~same], recogniser.similarity(unknown).ravel()])
        equal.append(benchmark.equal_error(likeness[same], impostor))
        errors = space.errors(asked, [20])[:, 0], space.errors(drawn_others(15, size=SIZE), [20])[:, 0]
        told.append(np.mean(errors[1] > np.sort(errors[0])[int(np.ceil(0.99 * (len(errors[0]) - 1)))]))
        kept.append(np.mean(space.face_score(asked) <= space.face_threshold_))
    row = result.at[1]
    assert row.n_components == 20
    assert row.rank1 == pytest.approx(np.mean(rank1))
    assert row.rank1_error == pytest.approx(abs(rank1[0] - rank1[1]) / 2)
    assert row.identified == pytest.approx(np.mean(named))
    assert row.false_accepts == pytest.approx(np.mean(strangers))
    assert row.equal_error == pytest.approx(np.mean(equal))
    assert row.told_apart == pytest.approx(np.mean(told))
    assert result.faces_kept == pytest.approx(np.mean(kept))


def test_rates_are_consistent_and_the_protocol_is_told(result, faces):
    for row in result.at:
        rates = list(row.false_rejects.values())
        assert rates == sorted(rates)
        assert row.identified + row.misnamed <= 1
        assert row.identified <= row.rank1
        assert 0 <= row.predicted_false_accept <= 0.3
    assert result.best == max(result.at, key=lambda row: row.rank1).n_components
    assert sum(times for *_, times in result.confusions) <= 2 * 11 * 3
    assert all(person != other for person, other, _ in result.confusions)
    assert result.protocol["enrolled"] == 3
    assert result.protocol["people"] == 14
    assert result.protocol["leave_out"] == 3
    assert result.protocol["others"] == "15 pictures of drawn things (seed 0)"
    text = str(result)
    assert text.startswith(
        "84 pictures of 14 people, none a copy of another; 2 splits, 3 of each enrolled, 3 people left out."
    )
    for part in (
        "strangers named %",
        "threshold for 10 % of strangers",
        "and at the threshold for 10 %",
        "A face or not, by reconstruction error (15 pictures of drawn things (seed 0))",
        "% of new faces pass, 100.00 ±0.00 % of others do not",
        f"{result.confusions[0][0]} taken for {result.confusions[0][1]}: ",
    ):
        assert part in text
    assert text.endswith(result.notes[-1])
    lines = text.splitlines()
    heads = [i for i, line in enumerate(lines) if line.startswith("components")]
    assert len(heads) == 3
    for i in heads:
        assert [line.split()[0] for line in lines[i + 1 : i + 3]] == ["5", "20"]
    alone = str(benchmark.evaluate_faces(faces, n_components=[10], splits=1, far=0.1))
    assert "strangers named" not in alone
    assert "left out" not in alone
    assert "1 split, 3 of each" in alone
    unknown = dataclasses.replace(result.at[0], predicted_false_reject=None)
    assert str(dataclasses.replace(result, at=(unknown,))).splitlines()[4].endswith(" -")


def test_figures_depend_on_the_seed_and_not_on_other_numbers(faces):
    given = {"n_components": [10], "splits": 2, "far": 0.1}
    first, second = (str(benchmark.evaluate_faces(faces, random_state=1, **given)) for _ in range(2))
    assert first == second
    assert first != str(benchmark.evaluate_faces(faces, random_state=2, **given))
    alone = benchmark.evaluate_faces(faces, n_components=[5], splits=1, far=0.1).at[0]
    beside = benchmark.evaluate_faces(faces, n_components=[5, 30], splits=1, far=0.1).at[0]
    for field in dataclasses.fields(alone):
        if field.name != "false_rejects":
            assert getattr(alone, field.name) == pytest.approx(getattr(beside, field.name), abs=0.03)
    result = benchmark.evaluate_faces(faces, n_components=[10, 400], splits=1, enrolled=2, far=0.1)
    assert [row.n_components for row in result.at] == [10, 27]
    assert "400 components became 27" in result.notes[0]
    alone = benchmark.evaluate_faces(faces, n_components=999, splits=1, far=0.1)
    assert [row.n_components for row in alone.at] == [41]
    result = benchmark.evaluate_faces(faces, n_components=[10], splits=1, far=0.1)
    assert result.protocol["others"] == "200 pictures of noise and shuffled faces"
    assert result.others_refused > 0.95
    assert result.at[0].false_accepts is None


def test_test_pictures_do_not_reach_the_model(faces, monkeypatch):
    seen = []
    fit = FaceSpace.fit

    def watched(self, pictures, people=None):
        seen.append(pictures)
        return fit(self, pictures, people)

    monkeypatch.setattr(FaceSpace, "fit", watched)
    benchmark.evaluate_faces(faces, n_components=[5], splits=1, enrolled=2, leave_out=4, far=0.1)
    assert [len(pictures) for pictures in seen] == [2 * 10]


def test_parameters_outside_of_what_they_may_be_and_others_of_another_size(faces):
    for settings, message in [
        ({"light": "bright"}, r"is not known\. Allowed:"),
        ({"far": 2}, "far=2 must be a number above 0 and"),
        ({"leave_out": 13}, "leave_out=13 must be a whole number"),
    ]:
        with pytest.raises(ParameterError, match=message):
            benchmark.evaluate_faces(faces, **settings)
    with pytest.raises(DataError, match=r"The pictures are 24x28 \(width x height\), but the model"):
        benchmark.evaluate_faces(faces, others=drawn_others(3, size=(24, 28)))


def test_copies_are_counted_and_kept_together(faces, monkeypatch):
    sides = []
    measure = benchmark._measure

    def watched(given, people, others, split, *rest):
        sides.append((set(people.originals[split.enrolled]), set(people.originals[split.tested])))
        return measure(given, people, others, split, *rest)

    monkeypatch.setattr(benchmark, "_measure", watched)
    doubled = faces.take([*range(84), 3, 4, 30])
    result = benchmark.evaluate_faces(doubled, n_components=[5], splits=3, enrolled=3, far=0.1)
    assert all(not enrolled & tested for enrolled, tested in sides)
    assert result.protocol["copies"] == 3
    assert "87 pictures of 14 people, 3 of them copies or near-copies of others, kept on one side; 3" in str(
        result
    )


def test_orl(data_dir):
    faces = read_faces(data_dir / "faces" / "orl")
    result = benchmark.evaluate_faces(faces, n_components=[199], enrolled=5, splits=1, far=0.01)
    assert result.at[0].rank1 >= 0.96
    assert result.at[0].equal_error <= 0.03


scores = st.lists(st.integers(-5, 5).map(lambda i: i / 4), min_size=1, max_size=12)


def sweep(genuine, impostor):
    thresholds = [*sorted({*genuine, *impostor}), np.inf]
    return [
        (t, sum(s >= t for s in impostor) / len(impostor), sum(g < t for g in genuine) / len(genuine))
        for t in thresholds
    ]


@given(scores, scores)
def test_roc_is_the_sweep(genuine, impostor):
    result = benchmark.roc(genuine, impostor)
    np.testing.assert_allclose(np.transpose(result), sweep(genuine, impostor))


@given(scores, scores)
def test_equal_error_is_the_sweep(genuine, impostor):
    gaps = [(abs(far - frr), (far + frr) / 2) for _, far, frr in sweep(genuine, impostor)]
    assert benchmark.equal_error(genuine, impostor) == pytest.approx(
        min(gaps, key=lambda gap: round(gap[0], 12))[1]
    )


@given(scores, scores, st.sampled_from([0.0, 0.01, 0.25, 0.5, 1.0]))
def test_rejects_are_the_fewest_allowed(genuine, impostor, far):
    expected = min(frr for _, accepted, frr in sweep(genuine, impostor) if accepted <= far)
    assert benchmark.rejects_at(genuine, impostor, [far])[0] == pytest.approx(expected)


@pytest.fixture(scope="module")
def few():
    return drawn_faces(5, 4, size=SIZE)


def crowd(codes, enrolled, originals=None):
    originals = np.arange(len(codes)) if originals is None else originals
    return benchmark.Population(tuple(f"p{i}" for i in range(max(codes) + 1)), codes, enrolled, originals)


def test_every_picture_is_on_one_side_and_splits_differ_and_repeat():
    for leave_out in [0, 2]:
        codes = np.repeat(np.arange(6), [3, 4, 5, 6, 4, 4])
        for seed in range(5):
            chosen = benchmark.draw_split(crowd(codes, 2), leave_out, np.random.default_rng(seed))
            sides = chosen.enrolled.astype(int) + chosen.tested + chosen.strangers
            assert (sides == 1).all()
            strangers = set(codes[chosen.strangers])
            assert len(strangers) == leave_out
            assert not strangers & (set(codes[chosen.enrolled]) | set(codes[chosen.tested]))
            counts = np.bincount(codes[chosen.enrolled], minlength=6)
            assert set(counts) == ({0, 2} if leave_out else {2})
    codes = np.repeat(np.arange(6), 6)
    masks = [
        benchmark.draw_split(crowd(codes, 3), 0, np.random.default_rng(seed)).enrolled for seed in (0, 0, 1)
    ]
    assert np.array_equal(masks[0], masks[1])
    assert not np.array_equal(masks[0], masks[2])


def test_people_with_too_few_pictures_are_not_used(few):
    people, notes, usable = benchmark.population(few, None)
    assert (people.enrolled, people.count, notes) == (2, 5, [])
    assert usable.all()
    assert people.names == ("p01", "p02", "p03", "p04", "p05")
    assert people.codes.tolist() == np.repeat(np.arange(5), 4).tolist()
    fewer = few.take(np.arange(2, 20))
    people, notes, usable = benchmark.population(fewer, 3)
    assert people.names == ("p02", "p03", "p04", "p05")
    assert usable.tolist() == [False] * 2 + [True] * 16
    assert people.codes.max() == 3
    assert notes == ["1 person with at most 3 pictures not used."]
    with pytest.raises(DataError, match=r"drawn faces \(seed 0\) does not say who is on its pictures\."):
        benchmark.population(dataclasses.replace(few, people=None), 2)
    with pytest.raises(DataError, match="0 of 5 people have more than 4 pictures, of which some"):
        benchmark.population(few, 4)
    # Two pictures, of which one is there three times, and four others.
    fewer = few.take([0, 1, 1, 1, *range(4, 20)])
    people, notes, _ = benchmark.population(fewer, 2)
    assert people.names == ("p02", "p03", "p04", "p05")
    assert notes == ["1 person with at most 2 pictures not used."]
    assert people.originals.tolist() == list(range(16))
    pictures = few.pictures.copy()
    pictures[4] = pictures[0]
    people, notes, usable = benchmark.population(dataclasses.replace(few, pictures=pictures), 2)
    assert notes == ["2 pictures not used: the same is also filed under another person."]
    assert np.flatnonzero(~usable).tolist() == [0, 4]
    assert people.originals.tolist() == list(range(18))


def test_numbers_of_components_and_standard_errors():
    notes = []
    assert benchmark.component_counts([100, 25, 25], 400, notes) == [25, 100]
    assert notes == []
    assert benchmark.component_counts([100, 300, 25], 99, notes) == [25, 99]
    assert notes == ["100 and 300 components became 99, the most that the enrolled pictures have."]
    assert benchmark.component_counts(7, 9, notes) == [7]
    mean, error = benchmark.mean_and_error([0.9, 0.95, 1.0])
    assert mean == pytest.approx(0.95)
    assert error == pytest.approx(0.05 / np.sqrt(3))
    assert benchmark.mean_and_error([0.9]) == (0.9, None)


def test_noise_has_the_form_of_faces(few):
    noise = benchmark.noise_pictures(few, 3)
    assert noise.pictures.shape == (200, 24, 20)
    assert noise.pictures.dtype == few.pictures.dtype
    assert noise.size == few.size == "20x24"
    # Shuffling keeps the grey values of a picture.
    greys = {tuple(np.sort(picture.ravel())) for picture in few.pictures}
    assert all(tuple(np.sort(picture.ravel())) in greys for picture in noise.pictures[100:])
    assert np.array_equal(noise.pictures, benchmark.noise_pictures(few, 3).pictures)


def stored(picture, kind, **options):
    """A picture as another file gives it back."""
    buffer = io.BytesIO()
    Image.fromarray(picture).save(buffer, kind, **options)
    return np.asarray(Image.open(buffer))


def near_copies(picture):
    height, width = picture.shape
    smaller = Image.fromarray(picture).resize((2 * width // 3, 2 * height // 3)).resize((width, height))
    return [
        stored(picture, "PNG"),
        stored(picture, "JPEG", quality=85),
        np.asarray(smaller),
        (0.8 * picture + 20).astype(np.uint8),
    ]


def test_copies_are_found_whatever_file_they_come_from():
    pictures = drawn_faces(8, 4, size=(92, 112)).pictures
    assert benchmark.copies_of(pictures).tolist() == list(range(32))
    result = benchmark.copies_of(
        np.concatenate([pictures, near_copies(pictures[5]), near_copies(pictures[9])])
    )
    assert result.tolist() == [*range(32), *[5] * 4, *[9] * 4]
    flat = np.full((2, 12, 10), 7, dtype=np.uint16)
    assert benchmark.copies_of(flat).tolist() == [0, 0]


def test_copies_are_on_one_side_of_every_split(few):
    with_copies = few.take([*range(20), 0, 0, 5, 6, 17])
    people, notes, usable = benchmark.population(with_copies, None)
    assert (people.copies, people.enrolled, notes) == (5, 2, [])
    assert usable.all()
    for seed in range(20):
        split = benchmark.draw_split(people, 1, np.random.default_rng(seed))
        for side in (split.enrolled, split.tested, split.strangers):
            inside = set(people.originals[side])
            assert not inside & set(people.originals[~side])
        different = np.unique(people.originals[split.enrolled])
        assert np.bincount(people.codes[different], minlength=5).max() == 2


def test_the_script_prints_what_python_measures(tmp_path, capsys):
    faces = drawn_faces(11, 4, size=SIZE, seed=1)
    np.savez(tmp_path / "people.npz", X=faces.pictures, y=np.array(faces.people))
    np.savez(tmp_path / "others.npz", X=drawn_others(10, size=(30, 30)).pictures)
    options = "-r 5,15 --splits 2 --far 0.1 --leave-out 1 --light none --no-discriminant"
    people, others = (str(tmp_path / name) for name in ("people.npz", "others.npz"))
    assert benchmark.main([people, "--others", others, *options.split()]) == 0
    printed = capsys.readouterr().out
    assert "light none, discriminant False" in printed
    assert "10 pictures of" in printed
    assert benchmark.main([others]) == 1
    assert "does not say who is on its pictures" in capsys.readouterr().err
