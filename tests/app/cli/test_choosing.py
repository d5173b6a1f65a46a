import pytest
from sklearn.datasets import make_circles

from gramian import choose_kernel, scan
from gramian.app.verbs import verb
from gramian.app.verbs.choose import estimator_named
from gramian.core.progress import report_to
from gramian.errors import ParameterError


@pytest.fixture
def rings(folder):
    X, y = make_circles(90, factor=0.4, noise=0.05, random_state=0)
    lines = [f"{a:.4f},{b:.4f},{'inner' if c else 'outer'}" for (a, b), c in zip(X, y, strict=True)]
    (folder / "rings.csv").write_text("east,north,ring\n" + "\n".join(lines) + "\n")
    return folder / "rings.csv"


FEW = "--candidates linear --candidates rbf(sigma=0.5)"


def test_the_table_and_the_next_command(rings, gramian):
    ran = gramian.works(f"choose-kernel rings.csv --label ring {FEW}")
    assert ran.out.startswith("Kernel for 90 rows x 2 columns, by score\n")
    (chosen,) = (line for line in ran.out.splitlines() if line.startswith("*"))
    assert chosen.endswith("  rbf(sigma=0.5)")
    *_, heading, command = ran.out.rstrip().splitlines()
    assert heading == "Fit it:"
    assert command.startswith(
        "  gramian fit rings.csv --label ring --kernel 'rbf(sigma=0.5)' --n-components "
    )


def test_the_next_command_can_be_run(rings, gramian):
    facts = gramian(f"choose-kernel rings.csv --label ring --rows 0:80 {FEW} --json").json
    assert facts["next"].startswith("gramian fit ")
    gramian.works(facts["next"].removeprefix("gramian "))
    assert (rings.parent / "out" / "model.gramian").is_file()


def test_a_column_of_another_unit_decides_no_kernel(rings, gramian):
    first, *lines = rings.read_text().splitlines()
    rows = [
        f"{line.partition(',')[0]},{1000 * float(line.split(',')[1]):.1f},{line.split(',')[2]}"
        for line in lines
    ]
    rings.write_text("\n".join([first.replace("east,north", "east_km,north_m"), *rows]) + "\n")
    ran = gramian.works(f"choose-kernel rings.csv --label ring {FEW}")
    assert "proposed scale='unit'" in ran.err
    assert ran.out.startswith("Kernel for 90 rows x 2 columns, by score, of standardised columns\n")
    assert "--scale unit" in ran.out.rstrip().splitlines()[-1]
    ran = gramian.works(f"choose-kernel rings.csv --label ring --as-is {FEW}")
    assert "standardised" not in ran.out
    gramian.refuses(f"choose-kernel rings.csv --label ring --scale big {FEW}", 2)


def test_without_labels_by_preimages_and_with_the_default_list(rings, gramian):
    ran = gramian(f"choose-kernel rings.csv --drop ring {FEW}")
    assert ran.out.startswith("Kernel for 90 rows x 2 columns, by preimage\n")
    assert "'rbf(sigma=0.5)' --n-components" in ran.out
    ran = gramian.works("choose-kernel rings.csv --label ring --n-components 2 --cv 2")
    assert "laplacian(gamma=" in ran.out


def test_everything_as_json(rings, gramian):
    given = f"--label ring --criterion preimage {FEW} --candidates sigmoid(gamma=9)"
    facts = gramian(f"choose-kernel rings.csv {given} --json").json
    assert facts["data"]["label"] == "ring"
    assert (facts["criterion"], facts["measure"]) == ("preimage", "error")
    assert [one["kernel"] for one in facts["candidates"]] == [
        "linear()",
        "rbf(sigma=0.5)",
        "sigmoid(gamma=9)",
    ]
    assert facts["candidates"][2]["value"] is None
    assert "not a valid kernel" in facts["candidates"][2]["remark"]
    assert facts["components"] >= 1


def test_the_seed_decides(rings, gramian):
    def values(seed):
        facts = gramian(
            f"choose-kernel rings.csv --label ring {FEW} --cv 2 --n-components 1 --random-state {seed} --json"
        ).json
        return [one["value"] for one in facts["candidates"]]

    first = values(1)
    assert values(1) == first
    assert values(2) != first


def values(facts):
    return [(one["value"], one["components"]) for one in facts["candidates"]]


def test_options_of_the_score(rings, gramian):
    options = "--n-components 2,3 --cv 3 --estimator knn --scoring balanced_accuracy --random-state 4"
    facts = gramian(f"choose-kernel rings.csv --label ring {FEW} {options} --json").json
    expected = choose_kernel(
        scan("rings.csv", label="ring"),
        candidates=["linear", "rbf(sigma=0.5)"],
        estimator=estimator_named("knn", True),
        cv=3,
        n_components=[2, 3],
        scoring="balanced_accuracy",
        random_state=4,
    )
    assert (facts["criterion"], facts["measure"]) == ("score", "balanced_accuracy")
    assert values(facts) == values(expected.to_dict())
    assert {number for _, number in values(facts)} <= {2, 3}


def test_an_estimator_for_numbers(rings, gramian):
    given = f"choose-kernel rings.csv --drop ring --label north {FEW} --n-components 1"
    ridge, knn = (gramian(f"{given} --estimator {name} --json").json for name in ("ridge", "knn"))
    assert ridge["measure"] == knn["measure"] == "r2"
    assert values(ridge) != values(knn)
    assert values(ridge) == values(gramian(f"{given} --json").json)


def test_options_of_preimages(rings, gramian):
    given = f"choose-kernel rings.csv --drop ring {FEW}"
    facts = gramian(f"{given} --n-components 2 --cv 3 --json").json
    expected = choose_kernel(
        scan("rings.csv", drop=["ring"]),
        None,
        ["linear", "rbf(sigma=0.5)"],
        cv=3,
        n_components=2,
        random_state=0,
    )
    assert values(facts) == values(expected.to_dict())
    assert facts["next"].endswith("--n-components 2 -o out")


def test_numbers_of_components_are_whole_or_a_list():
    for text in ["", "0", "2,", "2,0", "0.95", "-3", "2;3", "many", "1e2"]:
        with pytest.raises(ParameterError, match=r"is not understood\. Give a whole number such as 10, or"):
            verb("choose-kernel").values({"n_components": text})
    value = verb("choose-kernel").options["n_components"].value
    assert [value(text) for text in ("7", "2,5", " 5 , 2,2 ")] == [[7], [2, 5], [2, 5]]


def test_of_a_sheet_of_samples_one_column_is_predicted_also_of_counts_with_depth(folder, gramian):
    rows = [
        f"g{g},{','.join(str(10 * g + 7 * s * g % 11 + 90 * (g == s % 2)) for s in range(8))}"
        for g in range(40)
    ]
    (folder / "counts.csv").write_text("\n".join(["gene,s0,s1,s2,s3,s4,s5,s6,s7", *rows]))
    (folder / "sheet.csv").write_text(
        "\n".join(["name,dose,cell", *(f"s{i},{'ab'[i % 2]},c{i // 2}" for i in range(8))])
    )
    assert "proposed labels_from='sheet.csv'" in gramian.works("fit counts.csv").err
    given = "select counts.csv --transpose --transform logcpm --k 1"
    gramian.refuses(given, 2, "needs a label")  # which of two is for the user to say
    assert gramian(f"{given} --labels-from sheet.csv:dose --json").json["data"]["label"] == "dose"


def test_what_is_wrong_is_said(rings, gramian):
    for arguments, code, message in [
        ("--drop ring --criterion best", 2, "criterion='best' is not known. Allowed: 'preimage'"),
        ("--label ring,east", 2, "label='ring,east' names several columns, but one is predicted here"),
        ("--drop ring --criterion score", 2, "need labels. Name their column"),
        ("--drop ring --candidates rbff", 2, "Did you mean 'rbf'"),
        ("--label ring --candidates precomputed", 2, "cannot be compared"),
        ("--drop ring --estimator knn", 2, "estimator need labels. Name their column with label,"),
        (
            "--label ring --criterion preimage --scoring f1",
            2,
            "but the criterion is 'preimage'. Leave out one",
        ),
        ("--drop ring --n-components 0.9", 2, "n_components='0.9' is not understood. Give a whole"),
        ("--drop ring --n-components 80", 2, "n_components=80 is too many: the 72 rows used for fitting"),
        ("--drop ring --cv 1", 2, "cv=1 must be a whole number of at least 2"),
        ("--label ring --estimator ridge", 2, "estimator='ridge' does not support. Use one of"),
        ("--label ring --estimator svm", 2, "estimator='svm' is not known"),
        ("--label ring --scoring best", 2, "scoring='best' cannot be used"),
        ("--random-state -1", 2, "random_state=-1 must be a whole number from 0"),
        ("--as-is", 1, "holds no numbers: 'ring'"),
        ("--drop ring --rows 0:2", 1, "minimum of 3 is required by choose_kernel"),
        ("--label ring --candidates sigmoid(gamma=9)", 1, "None of 1 kernels can be evaluated"),
    ]:
        gramian.refuses(f"choose-kernel rings.csv {arguments}", code, message)


def test_kernels_are_counted_while_they_are_judged(rings, gramian):
    class Messages(list):
        def update(self, message, unit=None, done=0, total=0):
            if unit == "kernel":
                self.append((message.partition(":")[0], done, total))

    with report_to(Messages()) as said:
        gramian.works(f"choose-kernel rings.csv --label ring {FEW}")
    assert said == [("kernel 1 of 2", 0, 2), ("kernel 2 of 2", 1, 2)]
