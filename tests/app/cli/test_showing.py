import numpy as np

from commands import loaded_by
from gramian import PolynomialMap


def test_info_tells_what_a_model_is(flower_model, gramian):
    ran = gramian.works(f"info {flower_model}")
    for part in (
        "PCA(center=True",
        "30 rows x 3 columns",
        "Columns: 'length', 'width', 'height'",
        "Certificate: holds",
    ):
        assert part in ran.out
    assert "Written by gramian" in ran.out


def test_info_of_models_of_every_kind(flower_model, gramian, folder):
    facts = gramian(f"info {flower_model} --json").json
    assert facts["model"]["kind"] == "PCA"
    assert facts["model"]["feature_names"] == ["length", "width", "height"]
    assert facts["bytes"] == flower_model.stat().st_size
    assert facts["components"]["component"] == ["PC1", "PC2", "PC3"]
    gramian.works("fit faces.npz::X --kernel rbf -o k.gramian")
    assert "Kernel: rbf(gamma=" in gramian("info k.gramian").out
    gramian.works("fit faces.npz::X -o p.gramian")
    assert "30 pixels (pictures of 5 x 6)" in gramian("info p.gramian").out
    PolynomialMap(degree=3).fit(np.eye(3)).save("map.gramian")
    ran = gramian.works("info map.gramian")
    assert ran.out.startswith("PolynomialMap(")
    assert "degree=3" in ran.out
    assert "Written by gramian" in ran.out
    assert gramian("info map.gramian --json").json["model"]["kind"] == "PolynomialMap"


def test_info_of_a_kernel_waits_for_no_scikit_learn(flower_model, folder, gramian):
    gramian.works("fit flowers.csv --label species --kernel rbf -o k.gramian")
    calls = ["info", str(flower_model)], ["info", "k.gramian"]
    assert loaded_by(*calls, among=("sklearn", "scipy.stats", "pandas")) == []
