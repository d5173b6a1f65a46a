"""Removes links back to citations that are not on the page.

numpydoc cites every reference of a docstring in a part for LaTeX only, which HTML leaves out.
"""

from docutils import nodes
from sphinx.application import Sphinx


def without_targets(app, doctree, docname):
    """Keep the links back that have a target."""
    targets = {id for node in doctree.findall(nodes.Element) for id in node["ids"]}
    for citation in doctree.findall(nodes.citation):
        citation["backrefs"] = [id for id in citation["backrefs"] if id in targets]


def setup(app: Sphinx) -> dict[str, bool]:
    """Run after all references are resolved."""
    app.connect("doctree-resolved", without_targets)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
