"""What benchmarks/calibrate.py prints, with few draws."""

import pytest


@pytest.mark.walk
@pytest.mark.parametrize("table", ["imputed", "limits", "intervals", "products", "genomes"])
def test_intervals_and_limits_hold_their_level(calibrate, table):
    rates = list(calibrate.outside(table, quick=True))
    assert rates
    assert [rate for rate, outside in rates if outside] == []
