"""
Monitoring: when a fault began, and with which sensor
=====================================================

A process has six sensors driven by two causes that change slowly. A monitor learns from normal rows, raises
alarms for others, and points to the sensor with which an event began.
"""

import numpy as np
from scipy.signal import lfilter

from gramian import PCA, Monitor, figures

rng = np.random.default_rng(0)
causes = rng.standard_normal((2, 6))


def process(rows):
    slow = lfilter([1], [1, -0.8], rng.standard_normal((rows, 2)), axis=0)
    return slow @ causes + 0.3 * rng.standard_normal((rows, 6))


normal, new = process(1000), process(160)
new[80:, 4] += np.linspace(0, 6, 80)  # sensor x4 drifts from row 80 on
new[110:, 1] += 3  # the operators correct another one, too much

# %%
# The monitor gives 1 % of false alarms on normal rows, in T2 and SPE together. An event needs three alarms in
# a row. Rows depend on their neighbours, so that the limits say how many independent ones they are worth.

monitor = Monitor(PCA(2), alpha=0.01, consecutive=3).fit(normal)
print(monitor.limits_)

# %%
# T2 is large for rows far out in usual directions, SPE for rows that break the correlations.
# The drift breaks them: SPE rises after row 80.

figures.control_chart(monitor, new)

# %%
# The table of events has the columns that contribute most to the first three alarms, x4 before all. By
# reconstruction a fault in one sensor has its largest contribution there, however correlated the others are.

print(monitor.statistics(new).events)

# %%
# Over time: the drift of x4 comes first, and the correction of x1 later.

figures.contribution_map(monitor, new)

# %%
# A rule of several alarms in a row has fewer false events, and a longer delay.

print(monitor.run_rules(process(20_000), faulty=new[80:]))
