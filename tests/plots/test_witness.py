from gramian import plots
from gramian.kernels import audit, kernel_from_name


def test_points_of_one_coordinate_are_drawn_on_a_line(tmp_path):
    found = audit(kernel_from_name("rbf - 0.5*laplacian"), random_state=0)
    assert len(found.witness.points[0]) == 1
    plots.counter_example(found).save(tmp_path / "points.svg")
    assert "first coordinate" in (tmp_path / "points.svg").read_text(encoding="utf-8")
