"""How a fitted model shows itself in a notebook: what was found, beside scikit-learn's view of it."""

from __future__ import annotations

import html
from typing import Any

import numpy as np

from gramian.analysis.components import shares_of
from gramian.arrays import as_float64
from gramian.checks import counted

BARS, TALLEST = 40, 48  # bars of the small scree, and pixels of the first one
BLUE = "#0072B2"


class InNotebooks:
    """Sets kept variance, a small scree, plan and certificate beside what scikit-learn shows."""

    def _repr_html_inner(self) -> str:
        return _beside(super()._repr_html_inner(), self)  # type: ignore[misc]

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        bundle: dict[str, str] = super()._repr_mimebundle_(**options)  # type: ignore[misc]
        if "text/html" in bundle:
            bundle["text/html"] = _beside(bundle["text/html"], self)
        return bundle


def _beside(parameters: str, model: Any) -> str:
    # Of a stream nothing is decomposed before somebody asks for it, which this is not.
    told = summary(model) if "certificate_" in vars(getattr(model, "decomposition_", model)) else ""
    if not told:
        return parameters
    columns = "display:flex;flex-wrap:wrap;gap:2em;align-items:flex-start"
    return f'<div style="{columns}"><div>{parameters}</div><div style="max-width:48em">{told}</div></div>'


def summary(model: Any) -> str:
    """Return what is known of a fitted model as HTML.

    Parameters
    ----------
    model : fitted PCA, KernelPCA, Whitener or FaceSpace
    """
    model = getattr(model, "decomposition_", model)
    ratios, k = shares_of(model), int(model.n_components_)
    kept = "" if ratios is None else f", {100 * float(np.sum(ratios)):.4g} % of the variance"
    lines = [f"<b>{counted(k, 'component')}{kept}</b>"]
    variances = as_float64(model.explained_variance_)[:BARS]
    if variances.size and variances[0] > 0:
        heights = np.maximum(1, TALLEST * variances / variances[0]).round().astype(int).tolist()
        bar = f"display:inline-block;width:7px;margin-right:1px;background:{BLUE};height"
        bars = "".join(f'<span style="{bar}:{h}px" title="PC{j}"></span>' for j, h in enumerate(heights, 1))
        lines.append(f'<div role="img" aria-label="variances of the components">{bars}</div>')
    for told in (model.plan_, model.certificate_):
        first, *more = str(told).splitlines()
        rest = "<br>".join(map(html.escape, more))
        lines.append(f"<details><summary>{html.escape(first)}</summary>{rest}</details>")
    return "".join(f'<div style="margin:0.3em 0">{line}</div>' for line in lines)
