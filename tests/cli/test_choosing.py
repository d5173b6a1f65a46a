import shlex

import numpy as np
import pytest
from sklearn.datasets import make_circles


@pytest.fixture
def rings(folder):
    X, y = make_circles(90, factor=0.4, noise=0.05, random_state=0)
    lines = [f"{a:.4f},{b:.4f},{'inner' if c else 'outer'}" for (a, b), c in zip(X, y, strict=True)]
    (folder / "rings.csv").write_text("east,north,ring\n" + "\n".join(lines) + "\n")
    return folder / "rings.csv"


FEW = ("--candidate", "linear", "--candidate", "rbf(sigma=0.5)")


def test_the_table_and_the_next_command(rings, gramian):
    ran = gramian("choose-kernel", "rings.csv", "--label", "ring", *FEW)
    assert ran.code == 0, ran.err
    assert ran.out.startswith("Kernel for 90 rows x 2 columns, by score\n")
    assert "\n* rbf(sigma=0.5)" in ran.out
    *_, heading, command = ran.out.rstrip().splitlines()
    assert heading == "Fit it:"
    assert command.startswith("  gramian fit rings.csv --label ring --kernel 'rbf(sigma=0.5)' --components ")


def test_the_next_command_can_be_run(rings, gramian):
    facts = gramian("choose-kernel", "rings.csv", "--label", "ring", "--rows", "0:80", *FEW, "--json").json
    program, *arguments = shlex.split(facts["next"])
    assert program == "gramian"
    assert gramian(*arguments).code == 0
    assert (rings.parent / "out" / "model.gramian").is_file()


def test_without_labels_by_preimages(rings, gramian):
    ran = gramian("choose-kernel", "rings.csv", "--drop", "ring", *FEW)
    assert ran.out.startswith("Kernel for 90 rows x 2 columns, by preimage\n")
    assert "'rbf(sigma=0.5)' --components" in ran.out


def test_the_default_list(rings, gramian):
    ran = gramian("choose-kernel", "rings.csv", "--label", "ring", "--criterion", "alignment")
    assert ran.code == 0
    assert "laplacian(gamma=" in ran.out
    assert "--components" not in ran.out


def test_everything_as_json(rings, gramian):
    given = ("--label", "ring", "--criterion", "parallel", *FEW, "--candidate", "sigmoid(gamma=9)")
    facts = gramian("choose-kernel", "rings.csv", *given, "--json").json
    assert facts["data"]["label"] == "ring"
    assert (facts["criterion"], facts["measure"]) == ("parallel", "energy")
    assert [one["kernel"] for one in facts["candidates"]] == [
        "linear()",
        "rbf(sigma=0.5)",
        "sigmoid(gamma=9)",
    ]
    assert facts["candidates"][2]["value"] is None
    assert "no valid kernel" in facts["candidates"][2]["remark"]
    assert facts["components"] >= 1


def test_the_seed_decides(rings, gramian):
    def values(seed):
        facts = gramian("choose-kernel", "rings.csv", "--label", "ring", *FEW, "--seed", seed, "--json").json
        return [one["value"] for one in facts["candidates"]]

    assert values(1) == values(1)
    assert not np.array_equal(values(1), values(2))


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("--criterion", "best"), 2, "--criterion='best' is not known. Allowed: 'preimage'"),
        (("--drop", "ring", "--criterion", "score"), 2, "--criterion score reads labels. Name their column"),
        (("--drop", "ring", "--criterion", "alignment"), 2, "--criterion alignment reads labels"),
        (("--candidate", "rbff"), 2, "Did you mean 'rbf'"),
        (
            ("--label", "ring", "--candidate", "precomputed"),
            2,
            "A precomputed kernel matrix belongs to the rows",
        ),
        (("--seed", -1), 2, "--seed -1 must be a whole number from 0"),
        ((), 1, "holds no numbers: 'ring'"),
        (("--drop", "ring", "--rows", "0:2"), 1, "minimum of 3 is required by choose_kernel"),
        (("--label", "ring", "--candidate", "sigmoid(gamma=9)"), 1, "None of 1 kernels can be judged"),
    ],
)
def test_what_is_wrong_is_said(rings, gramian, arguments, code, message):
    ran = gramian("choose-kernel", "rings.csv", *arguments)
    assert (ran.code, ran.out) == (code, "")
    assert message in ran.err
