"""examples/climate.py: its numbers, and the waves that it finds."""

import numpy as np
import pytest

import helpers

pytest.importorskip("xarray")


def test_the_waves_are_found(tmp_path, capsys):
    ds = helpers.script("examples/climate.py").main(tmp_path)
    said = capsys.readouterr().out
    assert "PC2 and PC3" in said
    assert "Certificate: holds" in said
    assert "New months: 24" in said
    assert ds.group.values.tolist()[:3] == [1, 2, 2]
    assert (tmp_path / "eof.nc").stat().st_size > 0
    # The standing wave is a function of longitude about the equator; the travelling one has four crests.
    pattern = ds.components.sel(component=1, lat=2.5).dropna("lon")
    assert abs(np.corrcoef(pattern, np.cos(np.deg2rad(pattern.lon) - 3.5))[0, 1]) > 0.99
    rows = ds.components.sel(component=[2, 3], lat=-42.5).dropna("lon")
    waves = np.exp(4j * np.deg2rad(rows.lon.values))
    basis = np.column_stack([waves.real, waves.imag])
    left = rows.values.T - basis @ np.linalg.lstsq(basis, rows.values.T, rcond=None)[0]
    assert np.linalg.norm(left) < 0.2 * np.linalg.norm(rows)
