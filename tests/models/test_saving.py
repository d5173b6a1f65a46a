"""Saved models open again, bit for bit; well-formed files with wrong contents are refused."""

import copy
import tempfile
from collections import Counter
from contextlib import suppress
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from numpy.testing import assert_allclose, assert_array_equal

import gramian
from damaged import VALUES, altered, changed, places, refusals_of_damaged, reseal
from gramian import PCA, KernelPCA, kernels
from gramian.errors import FileError, ModelFileError, ParameterError, RankWarning
from gramian.kernels.expression import CLASSES, Points
from gramian.models.model_file import StoredModel, read_model
from gramian.models.pca.rules import NAMED
from helpers import spectrum_matrix

X = spectrum_matrix(30, 8, [5, 3, 2, 1, 0.5], seed=0, mean=2.0)
CODE = r"cannot be saved: a file holds no code\. Use a kernel of"
NEW = np.random.default_rng(1).standard_normal((7, 8))


def assert_same(first, second, name=""):
    """The same type and, bit for bit, the same content."""
    if isinstance(first, np.ndarray):
        assert isinstance(second, np.ndarray), name
        assert first.dtype == second.dtype, name
        assert_array_equal(first, second, err_msg=name)
    elif sp.issparse(first):
        assert_array_equal(first.toarray(), second.toarray())
    elif isinstance(first, Points):  # made of the text of a formula, which is compared too
        assert list(map(repr, first.kernels.values())) == list(map(repr, second.kernels.values())), name
    elif hasattr(first, "__dataclass_fields__"):
        assert type(first) is type(second), name
        for field in first.__dataclass_fields__:
            assert_same(getattr(first, field), getattr(second, field), f"{name}.{field}")
    elif isinstance(first, dict):
        assert list(first) == list(second), name
        for key in first:
            assert_same(first[key], second[key], f"{name}[{key}]")
    elif isinstance(first, float) and np.isnan(first):
        assert np.isnan(second), name
    elif isinstance(first, kernels.Kernel):
        assert type(first) is type(second), name
        assert first.get_params() == second.get_params(), name
    else:
        assert type(first) is type(second), name
        assert first == second, name


def round_trip(model, tmp_path):
    path = Path(tempfile.mkdtemp(dir=tmp_path)) / "m.gramian"
    model.save(path)
    assert [file.name for file in path.parent.iterdir()] == ["m.gramian"]
    twin = gramian.load(path)
    assert type(twin) is type(model)
    parameters = model.get_params(deep=False)
    for name, value in vars(model).items():
        if name not in parameters:
            assert_same(value, vars(twin)[name], name)
        elif name not in ("kernel", "random_state") and not np.ndim(value):
            assert value == vars(twin)[name], name
    assert set(vars(twin)) == set(vars(model))
    twin.save(path.with_name("again"))
    assert path.with_name("again").read_bytes() == path.read_bytes()
    return twin


PCAS = {
    "default": PCA(),
    "few": PCA(3, random_state=0),
    "fraction": PCA(0.9, tol=1e-7),
    "unit": PCA(2, scale="unit", whiten=True, ddof=0),
    "pareto": PCA(np.int64(2), scale="pareto", center=False),
    "array": PCA(2, scale=np.arange(1.0, 9.0)),
    "list": PCA(2, scale=[1.0, 2, 3, 4, 5, 6, 7, 8]),
    "krylov": PCA(2, solver="krylov", memory_limit="1GB"),
    "generator": PCA(2, random_state=np.random.default_rng(0), memory_limit=10**9),
    **{rule: PCA(rule, random_state=0) for rule in NAMED},
    "numpy scalars": PCA(np.float64(0.5), tol=np.float64(1e-3), whiten=np.bool_(True)),
}


def test_models_of_other_rows(tmp_path):
    """Sparse rows, pictures, a frame, a rank below the components, matrices; one of them is clipped."""
    rows, pictures = sp.csr_matrix(np.where(X > 1, X, 0)), X.reshape(30, 2, 4)
    frame, K = pd.DataFrame(X, columns=[f"gene {j} µ" for j in range(8)]), X @ X.T
    with pytest.warns(RankWarning, match="rank 5"):
        beyond = PCA(7).fit(X)
    clipped = KernelPCA(2, kernel="precomputed", repair="clip").fit(K - 5 * np.eye(30))
    assert clipped.repair_.count > 0
    for model, data in (
        *((PCA(2).fit(data), data) for data in (rows, pictures, frame)),
        (beyond, NEW),
        *((model, K[:5]) for model in (KernelPCA(2, kernel="precomputed").fit(K), clipped)),
    ):
        twin = round_trip(model, tmp_path)
        assert_array_equal(twin.transform(data), model.transform(data))
        if data is pictures:
            assert_array_equal(twin.component_pictures_, model.component_pictures_)
            assert twin.inverse_transform(twin.transform(X)).shape == (30, 2, 4)


def test_other_array_kinds_come_back_as_numpy(array_kind, tmp_path):
    model = PCA(2, scale="unit").fit(array_kind.make(X))
    model.save(tmp_path / "m.gramian")
    twin = gramian.load(tmp_path / "m.gramian")
    assert isinstance(twin.components_, np.ndarray)
    expected = gramian.core.arrays.to_numpy(model.transform(array_kind.make(NEW)))
    assert_allclose(twin.transform(NEW.astype(array_kind.dtype)), expected, atol=1e-5)


KERNEL_PCAS = {
    "default": KernelPCA(),
    "rbf": KernelPCA(3, kernel="rbf", gamma=0.1, random_state=0),
    "poly": KernelPCA(3, kernel="poly", degree=2, coef0=0.5),
    "laplacian": KernelPCA(3, kernel="laplacian"),
    "cosine": KernelPCA(0.8, kernel="cosine"),
    "uncentred": KernelPCA(2, kernel="rbf", center=False),
    "scaled": KernelPCA(2, kernel="rbf", scale="unit"),
    "Matern": KernelPCA(3, kernel=kernels.Matern(2.0, 2.5)),
    "RationalQuadratic": KernelPCA(3, kernel=kernels.RationalQuadratic(2.0, 0.5)),
    "Sigmoid": KernelPCA(2, kernel=kernels.Sigmoid(0.01, 0.5), repair="clip"),
    "ChiSquared": KernelPCA(3, kernel=kernels.ChiSquared(0.1)),
    "median": KernelPCA(3, kernel=kernels.RBF(sigma="median")),
    "widths": KernelPCA(3, kernel=kernels.RBF(sigma=[1.0, 2, 3, 4, 5, 6, 7, 8])),
    "array of widths": KernelPCA(3, kernel=kernels.Matern(np.arange(1.0, 9.0))),
    "sum": KernelPCA(3, kernel=kernels.RBF(sigma=2.0) + 0.5 * kernels.Linear() + 1.0),
    "product": KernelPCA(3, kernel=kernels.RBF(sigma=5.0) * kernels.Polynomial(2)),
    "power": KernelPCA(3, kernel=kernels.Laplacian() ** 0.5),
    "exp": KernelPCA(3, kernel=(0.01 * kernels.Linear()).exp()),
    "normalized": KernelPCA(3, kernel=(kernels.Linear() + 1).normalized()),
    "columns": KernelPCA(3, kernel=kernels.RBF().on(0, 3) + kernels.Cosine().on(1, 3, 5)),
    "formula of two rows": KernelPCA(3, kernel="exp(-norm(x - y)) + 0.1 * rbf(gamma='median')"),
    "expression": KernelPCA(3, kernel="rbf(sigma=2).on(0, -1) + 0.5 * linear ** 2"),
}


OF_COLUMNS = np.arange(1.0, 9.0)
OTHERS = {
    **{
        f"{method}, {rule}": gramian.Whitener(method, regularization=rule)
        for method, rule in product(("zca", "pca", "zca-cor", "pca-cor"), (None, 0.1, "ledoit-wolf"))
    },
    "weights": PCA(2, scale=OF_COLUMNS, feature_weight=OF_COLUMNS.tolist()),
    "series": PCA(2, scale=pd.Series(OF_COLUMNS)),
    "landmarks": KernelPCA(2, kernel="rbf", solver="nystroem", landmarks=X[:5]),
    "list of landmarks": KernelPCA(2, kernel="rbf", solver="nystroem", landmarks=X[:5].tolist()),
    "gamma of columns": gramian.RandomFourierMap(20, gamma=OF_COLUMNS / 100),
}
SAVED = PCAS | {f"kernel: {name}": model for name, model in KERNEL_PCAS.items()} | OTHERS


@pytest.mark.parametrize("name", SAVED)
def test_every_model_is_saved(name, tmp_path):
    for dtype in [np.float64, np.float32]:
        model, rows = copy.deepcopy(SAVED[name]), X.astype(dtype)
        if isinstance(model, gramian.Whitener):  # which divides by all variances
            rows = (X + NEW[:1] * np.random.default_rng(0).standard_normal((30, 8))).astype(dtype)
        new = np.abs(NEW) if "ChiSquared" in name else NEW
        rows = np.abs(rows) if "ChiSquared" in name else rows
        twin = round_trip(model.fit(rows), tmp_path)
        for data in (rows, new.astype(dtype), new):
            Z = model.transform(data)
            assert_array_equal(twin.transform(data), Z)
            if isinstance(model, (PCA, gramian.Whitener)):
                assert_array_equal(twin.inverse_transform(Z), model.inverse_transform(Z))
        for said in ("certificate_", "plan_"):
            assert str(getattr(twin, said, None)) == str(getattr(model, said, None))
        if isinstance(model, PCA):
            assert_array_equal(twin.get_covariance(), model.get_covariance())
            assert str(twin.summary()) == str(model.summary())
        if isinstance(model, gramian.Whitener):
            assert_array_equal(twin.whitening_matrix_, model.whitening_matrix_)
        twin.fit(rows)


class Mine(kernels.RBF):
    """A class of somebody else."""


def test_every_kernel_is_saved_but_neither_code_nor_unfitted_models(tmp_path):
    for kernel in (inner, 2 * kernels.kernel_from_name(inner), lambda x, y: float(x @ y), Mine(sigma=1.0)):
        model = KernelPCA(2, kernel=kernel).fit(X)
        with pytest.raises(ParameterError, match=CODE):
            model.save(tmp_path / "m.gramian")
        assert list(tmp_path.iterdir()) == []
    for model in [PCA(), KernelPCA()]:
        with pytest.raises(ValueError, match="is not fitted yet"):
            model.save(tmp_path / "m.gramian")
        assert list(tmp_path.iterdir()) == []
    used = set()

    def collect(kernel):
        used.add(type(kernel).__name__)
        for part in kernel.parts:
            collect(part)

    for model in KERNEL_PCAS.values():
        collect(kernels.kernel_from_name(model.kernel))
    assert used == set(CLASSES)
    PCA(2).fit(X).save(tmp_path / "m.gramian")
    stored = read_model(tmp_path / "m.gramian")
    deep = []
    for _ in range(100_000):
        deep = [deep]
    case = StoredModel(stored.content | {"state": deep}, {}, {})
    with altered(case), pytest.raises(ModelFileError, match="its contents are not those of a PCA"):
        gramian.load("m.gramian")


def inner(x, y):
    return float(x @ y)


def test_damaged_unknown_and_wrong_models_and_kernels_are_refused(tmp_path):
    path = tmp_path / "m.gramian"
    with pytest.raises(FileError, match="does not exist"):
        gramian.load(path)
    PCA(2).fit(X).save(path)
    with pytest.raises(ModelFileError, match="holds a PCA, not a KernelPCA"):
        KernelPCA.load(path)
    for kind in ("Oracle", "os.system", "Certificate"):
        reseal(path, lambda content, kind=kind: {"$": kind})
        with pytest.raises(ModelFileError, match=rf"holds a {kind}, which is no model .* It knows .*PCA"):
            gramian.load(path)
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(ModelFileError, match="damaged"):
        gramian.load(path)
    refused = Counter()
    for model in mutated():
        data = np.full((2, model.n_features_in_), 0.5)
        refused[type(model).__name__] += refusals_of_damaged(model, data, tmp_path)
    assert min(refused.values()) > 50
    KernelPCA(2, kernel=EXPRESSION).fit(X).save(tmp_path / "m.gramian")
    stored = read_model(tmp_path / "m.gramian")
    inside = [path for path in places(stored.content) if {"kernel", "kernel_"} & set(path[:2])]
    refused = []
    for path, new in list(product(inside, VALUES))[::5]:
        try:
            with altered(StoredModel(changed(stored.content, path, new), stored.arrays, {})):
                twin = gramian.load("m.gramian")
        except ModelFileError as error:
            refused.append(str(error))
            continue
        assert repr(twin)
        with suppress(gramian.errors.GramianError):  # of columns that are not there
            assert np.isfinite(twin.inverse_transform(twin.transform(NEW))).all(), (path, new)
    assert len(refused) > 50


WRONG = {  # place, and what is there
    "no state": (("state",), None),
    "an unknown parameter": (("parameters", "colour"), 1),
    "a reference to nothing": (("parameters", "scale"), {"$": "array", "value": "missing"}),
    "an unknown class": (("state", "plan_"), {"$": "Nothing"}),
    "a class of Python": (("state", "plan_"), {"$": "os.system"}),
    "a record of another class": (("state", "plan_"), {"$": "Step", "name": "", "detail": "", "seconds": 1}),
    "fields of another record": (("state", "plan_"), {"$": "Plan", "evil": 1}),
    "wrong parameters and state": (("parameters",), []),
    "a model inside itself": (("state", "plan_"), {"$": "PCA"}),
}


@pytest.mark.parametrize("name", WRONG)
def test_contents_that_are_not_those_of_the_kind(name, tmp_path):
    PCA(2).fit(X).save(tmp_path / "m.gramian")
    path, value = WRONG[name]
    reseal(tmp_path / "m.gramian", lambda content: changed(content, path, value))
    with pytest.raises(ModelFileError, match=r"its contents are not those of a PCA.*Fit the model"):
        gramian.load(tmp_path / "m.gramian")


def mutated():
    """Fitted models of every kind, and what makes each of them into JSON and arrays."""
    frame = pd.DataFrame(X, columns=[f"x{j}" for j in range(8)])
    return [
        PCA(3, scale="unit", whiten=True).fit(frame),
        KernelPCA(3, kernel="rbf", preimage="ridge").fit(X),
        KernelPCA(2, kernel="precomputed", repair="clip").fit(X @ X.T - 5 * np.eye(30)),
        gramian.Whitener(n_components=3, regularization="ledoit-wolf").fit(X),
        gramian.RandomFourierMap(22, random_state=0).fit(X),
        gramian.PolynomialMap(2).fit(X),
        gramian.Monitor(PCA(3), alpha=0.2).fit(X),
    ]


NOT_SINGLE = [[[]], [], {}, {"$": "float", "value": "nan"}, {"$": "slice", "value": [1, 2, 3]}]
NOT_SINGLE += [{"$": "text", "value": ["a"]}, {"$": "array", "value": "of nothing"}]
NESTED = [*NOT_SINGLE, [[1.0]], [1.0] * 1000, [[1], 2], {"a": 1}]


def test_each_parameter_is_checked_before_it_is_used(tmp_path):
    """A parameter that only a report or the next fit reads is no exception."""
    for model in mutated():
        model.save(tmp_path / "m.gramian")
        stored = read_model(tmp_path / "m.gramian")
        arrays = stored.arrays | {"of nothing": np.empty((0, 3))}
        paths = [("parameters", name) for name in stored.content["parameters"]]
        paths += [
            ("state", "_fit_parameters", name) for name in stored.content["state"].get("_fit_parameters", {})
        ]
        for path, new in product(paths, NESTED):
            if path[-1] == "kernel_params" and isinstance(new, dict) and "$" not in new:
                continue
            case = StoredModel(changed(stored.content, path, new), arrays, {})
            with altered(case), pytest.raises(ModelFileError, match="its contents are not those of a"):
                gramian.load("m.gramian")


TEXT = [{"$": "text", "value": ["a"] * 8}]


@pytest.mark.parametrize(
    ("kind", "path", "new", "what"),
    [
        ("PCA", ("parameters", "scale"), [[]], r"scale has the shape \(1, 0\), not \(d\)"),
        ("PCA", ("parameters", "scale"), [1.0] * 9, r"scale has the shape \(9,\), not \(d\) with d = 8"),
        ("PCA", ("parameters", "ddof"), "text", "ddof is 'text', not int"),
        ("Whitener", ("parameters", "method"), 3, "method is 3, not str"),
        ("PCA", ("state", "reading_"), {"odd": 1}, "a key of reading_ is 'odd', not"),
        ("PCA", ("state", "reading_"), {"rows": [[]]}, r"rows of reading_\[0\] is \(\), not str"),
        ("PCA", ("state", "feature_names_in_"), TEXT, "feature_names_in_ is .*, not NDArray|ndarray"),
        ("PCA", ("state", "n_components_"), 99, "has the shape .* with k = 99"),
        ("PCA", ("state", "certificate_", "ok"), "yes", "certificate_.ok is 'yes', not bool"),
        ("PCA", ("state", "plan_", "steps"), [[]], r"plan_.steps\[0\] is \(\), not Step"),
        (
            "PCA",
            ("state", "spectrum_", "rank_tolerance"),
            "much",
            "spectrum_.rank_tolerance is .much., not float",
        ),
    ],
)
def test_a_wrong_part_is_named(kind, path, new, what, tmp_path):
    getattr(gramian, kind)(n_components=2).fit(X).save(tmp_path / "m.gramian")
    reseal(tmp_path / "m.gramian", lambda content: changed(content, path, new))
    with pytest.raises(ModelFileError, match=what):
        gramian.load(tmp_path / "m.gramian")


EXPRESSION = 2.5 * kernels.RBF(sigma=2.0) + kernels.Linear().on([0, 2]) * kernels.Polynomial(degree=2) ** 3


def test_wrong_arrays_and_parameters_are_named(tmp_path):
    for path, new, what in (
        (["kernel_"], None, r"none of X_fit_.* belongs to its kernel_, not \['X_fit_'\]"),
        (["X_fit_"], None, r"one of X_fit_, landmarks_ belongs.*not \[\]"),
    ):
        KernelPCA(2, kernel="rbf").fit(X).save(tmp_path / "m.gramian")
        reseal(tmp_path / "m.gramian", lambda content, p=path, new=new: changed(content, ("state", *p), new))
        with pytest.raises(ModelFileError, match=what):
            gramian.load(tmp_path / "m.gramian")
    path = tmp_path / "m.gramian"
    for array, what in (
        (np.full((2, 8), np.inf), "components_ has entries that are infinite"),
        (np.zeros((8, 2)), r"components_ has the shape \(8, 2\), not \(k, d\) with k = 2, d = 8"),
        (np.zeros((2, 8), dtype=int), "components_ is ndarray, not"),
    ):
        PCA(2).fit(X).save(path)
        reseal(path, arrays={"state.components_": array})
        with pytest.raises(ModelFileError, match=what):
            gramian.load(path)
    kernel = ("parameters", "kernel")
    for path, new, what in (
        ((*kernel, "left", "factor"), "2", "kernel: left: factor='2' must be a finite number"),
        ((*kernel, "right"), 7, "kernel: 7 is no kernel object"),
        ((*kernel, "right", "right", "exponent"), -1, "exponent=-1 must be"),
    ):
        KernelPCA(2, kernel=EXPRESSION).fit(X).save(tmp_path / "m.gramian")
        reseal(tmp_path / "m.gramian", lambda content, path=path, new=new: changed(content, path, new))
        with pytest.raises(ModelFileError, match=what):
            gramian.load(tmp_path / "m.gramian")


def test_means_that_fill_holes(tmp_path):
    file = tmp_path / "a.csv"
    file.write_text("x,y,z\n1,2,3\n4,,1\n5,1,7\n2,6,2\n")
    source = gramian.scan(file, missing="mean")
    models = (PCA(2), KernelPCA(2), gramian.Whitener(), gramian.PolynomialMap(2))
    for model in models:
        twin = round_trip(model.fit(source), tmp_path)
        assert twin.column_means_.tolist() == [3.0, 3.0, 3.25]
        assert_array_equal(twin.transform(source), model.transform(source))
        assert model.fit(X).column_means_ is None
