"""Heat map of how much metadata explains of the components."""

from __future__ import annotations

from typing import Any

import altair as alt
import numpy as np

from gramian.analysis.associations import LEVEL, SHOWN, Description
from gramian.checks import counted
from gramian.errors import ParameterError
from gramian.estimators.describe import describe
from gramian.plots.style import Layers, headed, table

MOST = 40  # variables
WEIGHTED = "all, weighted"


def metadata(description: Description) -> Any:
    """Draw how much of each component's scores each variable explains.

    Parameters
    ----------
    description : Description
        Of :func:`gramian.describe`.

    Returns
    -------
    altair.LayerChart
        ``chart.data`` has a row for each variable and component, and one for all components: variable,
        component, r2, p adjusted, rows. A * marks an adjusted p below 0.05. At most 10 components and 40
        variables are shown.

    Raises
    ------
    ParameterError
        If no variable was associated.

    Examples
    --------
    >>> import numpy as np
    >>> import gramian
    >>> X = np.random.default_rng(0).normal(size=(30, 4))
    >>> description = gramian.describe(gramian.PCA(2).fit(X), X, {"batch": ["a", "b", "c"] * 10})
    >>> gramian.plots.metadata(description).data.column_names
    ['variable', 'component', 'r2', 'p adjusted', 'rows', 'label']
    """
    names = description.variables[:MOST]
    if not names:
        said = " ".join(description.sentences())
        raise ParameterError(f"No column of the metadata can be drawn. {said}".strip())
    components = description.components[:SHOWN]
    k, v = len(components), len(names)
    r2 = np.column_stack([description.weighted_r2[:v], description.r2[:v, :k]])
    p = np.column_stack([np.full(v, np.nan), description.p_adjusted[:v, :k]])
    titles = [WEIGHTED, *components]
    columns = {
        "variable": np.repeat(names, k + 1),
        "component": np.tile(titles, v),
        "r2": r2.ravel(),
        "p adjusted": p.ravel(),
        "rows": np.repeat(description.rows[:v], k + 1),
        "label": [f"{a:.2f}{'*' if b < LEVEL else ''}" for a, b in zip(r2.ravel(), p.ravel(), strict=True)],
    }
    x = alt.X("component:N", sort=titles, title=None, axis=alt.Axis(labelAngle=-45, labelOverlap=False))
    y = alt.Y("variable:N", sort=names, title=None, axis=alt.Axis(labelOverlap=False))
    scale = alt.Scale(scheme="blues", domain=[0, 1])
    tips = ["variable:N", "component:N", "r2:Q", "p adjusted:Q", "rows:Q"]
    cells = (
        alt.Chart()
        .mark_rect()
        .encode(x=x, y=y, color=alt.Color("r2:Q", scale=scale, title="r2"), tooltip=tips)
    )
    # On cells that are light in either theme of a page.
    ink = alt.condition("datum.r2 > 0.6", alt.value("white"), alt.value("#222222"))
    texts = alt.Chart().mark_text(fontSize=10.5).encode(x=x, y=y, text="label:N", color=ink)
    few = (
        f"The {MOST} of {len(description.variables):,} columns that explain most."
        if v < len(description.variables)
        else ""
    )
    width = 52 * (k + 1)
    head = headed(
        "Variance of the scores that metadata explain",
        "r2, or eta squared of categories. * marks an adjusted p below 0.05. The first column weights "
        f"{counted(len(description.explained_variance), 'component')} by their variances.",
        few,
        width=max(width, 320),
    )
    return Layers(data=table(columns), layer=[cells, texts], title=head, width=width, height=24 * v)


def described_metadata(model: Any, table: Any) -> Any:
    """Draw the labels and metadata of a table; see :func:`metadata`."""
    return metadata(describe(model, table))
