"""Monitoring a process: a monitor learns the normal rows of a simulated plant, and diagnoses three faults.

Run ``python examples/processes.py``. It prints the limits, the false alarms on later normal rows, the delay
by run rule, for each fault the events and the variables that begin them, and what a kernel PCA misses.
"""

from __future__ import annotations

import numpy as np
import pandas as pd

from gramian import PCA, KernelPCA, Monitor

COLUMNS = (
    *("feed", "feed valve", "feed temperature", "level", "outlet flow", "outlet valve", "coolant flow"),
    *("jacket temperature", "coolant valve", "reactor temperature", "pressure", "product", "purge"),
    "analyser",
)
FAULTS = {
    "step": ("The pressure before the feed valve falls, and it opens further.", {"feed", "feed valve"}),
    "drift": ("The analyser drifts.", {"analyser"}),
    "stiction": ("The coolant valve sticks, and moves in jumps.", {*COLUMNS[6:10]}),
}


def plant(rows: int, seed: int, fault: str = "", onset: int = 0) -> pd.DataFrame:
    """Return measurements of a tank reactor with three controllers, once a minute.

    Disturbances of feed, temperatures and quality are autocorrelated; controllers move the valves, so that a
    fault spreads to other columns. A fault begins at the row ``onset``.
    """
    rng, start = np.random.default_rng(seed), 300
    slow = np.zeros(4)  # disturbances of feed, feed temperature, coolant temperature and quality
    level, temperature = np.zeros(2)
    feed_valve = outlet_valve = coolant_valve = coolant_stem = 0.0
    noise = rng.standard_normal((rows + start, len(COLUMNS)))
    shocks = rng.standard_normal((rows + start, 4))
    measured = np.empty((rows + start, len(COLUMNS)))
    for t in range(rows + start):
        after = t - start - onset
        broken = fault if after >= 0 else ""
        slow = np.array([0.9, 0.97, 0.95, 0.9]) * slow + np.array([0.4, 0.2, 0.25, 0.4]) * shocks[t]
        feed = slow[0] + 0.8 * feed_valve - (3.5 if broken == "step" else 0.0)
        feed_valve += 0.25 * (0.0 - feed) - 0.05 * feed_valve
        outlet = 0.8 * outlet_valve
        level += 0.3 * (feed - outlet)
        outlet_valve += 0.5 * (level - outlet_valve)
        if broken != "stiction" or abs(coolant_valve - coolant_stem) > 2.5:
            coolant_stem = coolant_valve
        coolant = coolant_stem + 0.3 * slow[2]
        temperature += 0.2 * (0.5 * feed + slow[1] - coolant - 0.5 * temperature)
        coolant_valve += 0.2 * temperature + 0.3 * (slow[1] - coolant_valve)
        product = feed + 0.4 * temperature + slow[3]
        analyser = product + (0.05 * after if broken == "drift" else 0.0)
        jacket, pressure = 0.6 * temperature - 0.5 * coolant, 0.7 * temperature + 0.5 * feed
        measured[t, :7] = feed, feed_valve, slow[1], level, outlet, outlet_valve, coolant
        measured[t, 7:11] = jacket, coolant_valve, temperature, pressure
        measured[t, 11:] = product, 0.3 * product + 0.6 * slow[3], analyser
    return pd.DataFrame(measured[start:] + 0.2 * noise[start:], columns=COLUMNS)


def main() -> None:
    normal, later, onset = plant(1000, seed=1), plant(20_000, seed=2), 100
    monitor = Monitor(PCA(0.9, scale="unit"), alpha=0.01, consecutive=3).fit(normal)
    print(monitor.limits_)
    share = float(np.mean(monitor.predict(later) == -1))
    print(f"\nAlarms on {len(later):,} later normal rows: {100 * share:.2f} %, 1 % requested.")
    print(f"\n{monitor.run_rules(later, faulty=plant(300, 3, 'step'))}")
    for name, (about, columns) in FAULTS.items():
        new = plant(400, seed=4, fault=name, onset=onset)
        print(f"\nFrom row {onset} on: {about} Its columns are {', '.join(sorted(columns))}.")
        print(monitor.statistics(new).events)
    print(f"\nShare of rows with an alarm from row {onset} on:\n{detected(normal, onset)}")


def detected(normal: pd.DataFrame, onset: int) -> pd.DataFrame:
    """Return the share of faulty rows with an alarm in each statistic, of PCA and of kernel PCA."""
    models = {"PCA": PCA(5, scale="unit"), "RBF": KernelPCA(20, kernel="rbf", scale="unit")}
    faulty = {name: plant(400, 4, name, onset)[onset:] for name in FAULTS}
    faulty["feed shifted by 20 deviations"] = plant(300, 4)
    faulty["feed shifted by 20 deviations"]["feed"] += 20 * normal["feed"].std()
    shares = {}
    for kind, model in models.items():
        monitor = Monitor(model, alpha=0.01).fit(normal)
        tables = {name: monitor.statistics(rows) for name, rows in faulty.items()}
        for statistic in ("T2", "SPE"):
            shares[f"{kind}, {statistic}"] = {
                name: float(np.mean(table[statistic] > table[f"{statistic} limit"]))
                for name, table in tables.items()
            }
    return pd.DataFrame(shares).round(2)


if __name__ == "__main__":
    main()
