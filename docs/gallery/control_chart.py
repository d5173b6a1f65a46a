"""
Monitoring: find the sensor that fails
======================================

A process has six sensors driven by two causes. A monitor learns from normal rows, raises alarms for
others, and points to the sensor.
"""

import numpy as np

from gramian import PCA, Monitor, plots

rng = np.random.default_rng(0)
causes = rng.standard_normal((2, 6))
normal = rng.standard_normal((1000, 2)) @ causes + 0.3 * rng.standard_normal((1000, 6))
new = rng.standard_normal((120, 2)) @ causes + 0.3 * rng.standard_normal((120, 6))
new[80:, 4] += np.linspace(0, 3, 40)  # sensor x4 drifts from row 80 on

# %%
# The monitor gives 1 % of false alarms on normal rows, in T2 and SPE together.

monitor = Monitor(PCA(2), alpha=0.01).fit(normal)
print(monitor.limits_)

# %%
# T2 is large for rows far out in usual directions, SPE for rows that break the correlations.
# The drift breaks them: SPE rises after row 80.

plots.control_chart(monitor, new)

# %%
# The contributions of the columns to a late row. Its SPE is above the limit, and x4 has the largest
# residual. Part of the drift appears in x2 and x0, which are correlated with x4.

plots.contributions(monitor, new, 110)
