"""``select``: what is kept, printed and written, and what is refused before."""

import re
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_diabetes, load_wine
from sklearn.pipeline import Pipeline

import gramian as package
from gramian.app.verbs import verb
from gramian.app.verbs.choose import estimator_named
from gramian.errors import ParameterError
from gramian.select.filters import FeatureFilter
from gramian.select.wrappers import SequentialFeatureSelector

WINE = load_wine(return_X_y=True, as_frame=True)


@pytest.fixture
def wine(folder):
    X, y = WINE
    X.iloc[:, :6].assign(grape=np.array(["a", "b", "c"])[y]).to_csv("wine.csv", index=False)
    return X.iloc[:, :6], np.array(["a", "b", "c"])[y]


@pytest.fixture
def numbers(folder):
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    X.iloc[:150].assign(progress=y[:150]).to_csv("numbers.csv", index=False)
    return X.iloc[:150], y[:150].to_numpy()


def names(file="out.txt"):
    return Path(file).read_text(encoding="utf-8").splitlines()


def test_filters_keep_what_the_selector_keeps(wine, gramian):
    for method in ["mutual-information", "f", "chi2"]:
        count = "" if method == "f" else "--k 5"  # one way through validation is enough
        ran = gramian(f"select wine.csv --label grape --score-func {method} {count} -o out.txt")
        assert (ran.code, ran.err) == (0, "")
        model = FeatureFilter(method, k=5 if count else "cv", random_state=0).fit(*wine)
        assert names() == model.get_feature_names_out().tolist()
        summary = str(model.summary())
        assert ran.out == f"{summary}\n\nWritten: out.txt, the names of the selected columns\n"


def test_options_of_filters(wine, gramian):
    options = "--score-func f --redundancy mrmr --estimator knn --cv 3 --scoring balanced_accuracy"
    ran = gramian(f"select wine.csv --label grape {options}")
    model = FeatureFilter(
        "f", redundancy="mrmr", estimator=estimator_named("knn", True), cv=3, scoring="balanced_accuracy"
    ).fit(*wine)
    assert ran.out == f"{model.summary()}\n"
    assert "Cross-validated: StandardScaler + KNeighborsClassifier" in ran.out


@pytest.mark.parametrize("features", ["3", "0.5"])
def test_a_number_or_a_share(wine, gramian, features):
    ran = gramian(f"select wine.csv --label grape --k {features} -o -")
    assert len(ran.out.splitlines()) == 3
    assert "Selected 3." in ran.err
    assert "Written" not in ran.err


def test_numbers_as_label(numbers, gramian):
    ran = gramian("select numbers.csv --label progress --score-func f -o out.txt")
    model = FeatureFilter("f").fit(*numbers)
    assert model.task_ == "numbers"
    assert names() == model.get_feature_names_out().tolist()
    assert "mean R2" in ran.out


def test_everything_as_json(wine, gramian):
    ran = gramian("select wine.csv --label grape --score-func f --json -o out.txt")
    model = FeatureFilter("f").fit(*wine)
    facts = ran.json
    assert facts["kept"] == names() == model.get_feature_names_out().tolist()
    assert (facts["label"], facts["method"], facts["task"]) == ("grape", "f", "classes")
    assert facts["classes"] == ["a", "b", "c"]
    assert facts["reason"] == model.reason_
    assert facts["data"]["rows"] == 178
    best = facts["ranking"][0]
    assert best["column"] == wine[0].columns[np.argmin(model.ranking_)]
    assert best["score"] == pytest.approx(model.scores_.max())
    assert [entry["rank"] for entry in facts["ranking"]] == list(range(1, 7))
    assert facts["validation"]["estimator"] == "StandardScaler + LogisticRegression"
    scores = [one["score"] for one in facts["validation"]["tried"]]
    np.testing.assert_allclose(scores, [one.mean for one in model.selection_])
    facts = gramian("select wine.csv --label grape --k 2 --json").json
    assert facts["validation"] is None
    assert facts["ranking"][0]["p_value"] is None


def test_infinite_scores_are_null_in_json(folder, gramian):
    Path("exact.csv").write_text("a,b,kind\n" + "0,1,x\n0,3,x\n1,2,y\n1,4,y\n" * 3)
    facts = gramian("select exact.csv --label kind --score-func f --k 1 --json").json
    assert facts["ranking"][0] == {"rank": 1, "column": "a", "score": None, "p_value": 0.0, "kept": True}


@pytest.mark.parametrize("method", ["forward", "backward", "exhaustive"])
@pytest.mark.walk
def test_wrappers_keep_what_the_selector_keeps(wine, gramian, method):
    arguments = f"select wine.csv --label grape --direction {method} --estimator knn --cv 3"
    ran = gramian(f"{arguments} -o out.txt")
    assert (ran.code, ran.err) == (0, "")
    model = SequentialFeatureSelector(estimator_named("knn", True), direction=method, cv=3).fit(*wine)
    assert names() == model.get_feature_names_out().tolist()
    assert "StandardScaler + KNeighborsClassifier" in ran.out
    facts = gramian(f"{arguments} --json").json
    assert facts["kept"] == names()
    assert facts["score"] == pytest.approx(model.score_)
    assert len(facts["history"]["steps"]) == len(model.history_)
    assert facts["reason"] == model.history_.choice.why


def test_options_of_wrappers(numbers, gramian):
    options = "--direction forward --n-features-to-select one-se --floating --cv 3 --estimator ridge"
    facts = gramian(f"select numbers.csv --label progress {options} --json").json
    model = SequentialFeatureSelector(
        estimator_named("ridge", False), n_features_to_select="one-se", floating=True, cv=3
    ).fit(*numbers)
    assert facts["kept"] == model.get_feature_names_out().tolist()
    assert facts["score"] == pytest.approx(model.score_)


def test_estimators():
    for name in ("logistic", "knn"):
        assert isinstance(estimator_named(name, True), Pipeline)
    assert type(estimator_named("knn", False)[-1]).__name__ == "KNeighborsRegressor"


def test_estimators_and_numbers_that_cannot_be():
    for name, discrete, match in [
        ("ridge", True, "The label names classes, which"),
        ("logistic", False, "The label is a number, which"),
        ("forest", True, r"is not known\. Allowed:"),
    ]:
        with pytest.raises(ParameterError, match=match):
            estimator_named(name, discrete)
    for name, texts in {"k": ("best", "0", "1.5", "nan", "-3"), "n_features_to_select": ("cv",)}.items():
        for text in texts:
            with pytest.raises(ParameterError, match=name):
                verb("select").values({name: text})


def test_refusals_leave_nothing_behind(wine, gramian):
    for arguments, code, message in [
        ("--score-func anova", 2, "score_func='anova' is not known"),
        (
            "--score-func f --floating",
            2,
            "floating applies only to a wrapper, with a direction. Leave it out",
        ),
        ("--direction forward --k 3", 2, "k applies only to filters"),
        ("--k 3 --estimator knn", 2, 'estimator applies only to k="cv"'),
        ("--k 3 --cv 4", 2, 'cv applies only to k="cv"'),
        ("--k 0.5 --scoring accuracy", 2, 'scoring applies only to k="cv"'),
        ("--random-state -1", 2, "random_state=-1 must be a whole number from 0"),
        ("--k 7", 2, "k=7 must be a whole number from 1 to 6"),
        ("--cv 1", 2, "cv=1 must be a whole number of at least 2"),
        ("--scoring best", 2, "cannot be used"),
        ("--estimator ridge", 2, "does not support"),
        ("-o none/out.txt", 1, "there is no folder none"),
        ("-o wine.csv", 2, "-o wine.csv is an input of this command"),
        ("-o - --json", 2, "--json and -o - both write to standard output"),
        ("--label wine", 2, "wine"),
        ("--drop alcohol,malic_acid,ash,alcalinity_of_ash,magnesium,total_phenols", 1, "column"),
    ]:
        before = sorted(Path().iterdir())
        label = "" if "--label" in arguments else "--label grape"
        gramian.refuses(f"select wine.csv {label} {arguments}", code, "gramian: ", message)
        assert sorted(Path().iterdir()) == before


def test_a_label_is_needed(wine, gramian):
    gramian.refuses("select wine.csv --as-is", 2, "Name its column with label")


def test_names_with_line_breaks(folder, gramian):
    Path("broken.csv").write_text('"a\nb",c,kind\n' + "1,2,x\n3,4,y\n5,7,x\n6,6,y\n")
    arguments = "select broken.csv --label kind --score-func f --k 1"
    gramian.works(arguments)
    gramian.refuses(f"{arguments} -o out.txt", 2, "has a line break, but -o writes one name a line")
    assert not Path("out.txt").exists()


def test_help_names_every_option_with_its_default(gramian):
    text = " ".join(gramian("select --help").out.split())
    for name in verb("select").options:
        assert f"--{name.replace('_', '-')}" in text
    for default in (r"\[mutual- information\]", r"\[cv\]", r"\[best\]", r"\[5\]", r"\[accuracy; r2\]"):
        assert re.search(default, text)
    assert "Needs --label." in text


def test_numbers_are_read_as_numbers(gramian):
    for name in ("cv", "random_state"):
        option = f"--{name.replace('_', '-')}"
        gramian.refuses(f"select a.csv {option} many", 2, f"{name}='many' is not a whole number.")


def test_chosen_columns_are_given_back(folder, gramian):
    select = "select flowers.csv --label species --k 2 -o features.txt"
    gramian.works(select)
    names = Path("features.txt").read_text().split()
    gramian.works("fit flowers.csv --columns @features.txt --label species -o m.gramian")
    assert package.load("m.gramian").feature_names_in_.tolist() == names
    left = gramian("fit flowers.csv --label species --drop @features.txt --json").json
    assert left["model"]["n_features"] == 1
    # What is read is not written over.
    again = "select flowers.csv --label species --columns @features.txt -o features.txt"
    gramian.refuses(again, 2, "is an input of this command")


def test_columns_without_names_are_given_back_by_their_place(folder, gramian):
    X = np.random.default_rng(0).normal(size=(40, 5))
    X[:, 0] = np.repeat([0, 1], 20)
    X[:, 2] += 3 * X[:, 0]
    X[:, 4] += 3 * X[:, 0]
    np.save("a.npy", X)
    np.savetxt("a.csv", X, delimiter=",")
    for name in ("a.npy", "a.csv"):
        options = "--label 0 --drop 1 --k 2 -o f.txt"
        ran = gramian(f"select {name} {options}")
        assert (ran.code, sorted(Path("f.txt").read_text().split())) == (0, ["2", "4"]), ran.err
        facts = gramian(f"fit {name} --columns @f.txt --json").json
        assert (facts["data"]["columns"], facts["model"]["n_features"]) == (2, 2)


def test_lists_of_columns_that_cannot_be_used(folder, gramian):
    for content, code, message in [
        (b"length\n\nheigt\n", 2, "flowers.csv has no such column. Did you mean 'height'?"),
        (b"length\r\nwidth\r\nlength\r\n", 2, "name 'length' more than once."),
        (b"\n", 2, "holds no names."),
        (b"\xff\xfe\x00", 1, "f.txt cannot be read: "),
    ]:
        Path("f.txt").write_bytes(content)
        gramian.refuses("fit flowers.csv --columns @f.txt", code, message)
    gramian.refuses("fit flowers.csv --columns @no.txt", 1, "no.txt cannot be read: ")
    Path("f.txt").write_text("length\nwidth\n")
    with pytest.raises(ParameterError, match="columns"):
        package.scan("flowers.csv", columns="@f.txt", drop="width")
    assert package.scan("flowers.csv", columns=["length", "width"]).columns == ("length", "width")
