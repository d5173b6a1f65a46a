"""What Sphinx must know about docstrings: names such as n_components_ and norms such as |x| are text.

In reStructuredText the first would be a link and the second a substitution. Docstrings are read in
terminals too, where backslashes would disturb, so they are added here.
"""

import re

from docutils import nodes
from sphinx.application import Sphinx

LITERAL = re.compile(r"(``.*?``|`[^`]*`_?)")
NAME = re.compile(r"(?<![\\\w])([A-Za-z]\w*)_(?!\w)")
BAR = re.compile(r"(?<!\\)\|(?=\S)")


def escape(app, what, name, obj, options, lines):
    """Escape names and bars outside of literals and examples."""
    example = False
    for number, line in enumerate(lines):
        example = line.lstrip().startswith(">>>") or (example and bool(line.strip()))
        if not example and not line.lstrip().startswith(".. "):
            parts = LITERAL.split(line)
            parts[::2] = (BAR.sub(r"\|", NAME.sub(r"\1\\_", part)) for part in parts[::2])
            lines[number] = "".join(parts)


def without_targets(app, doctree, docname):
    """Keep links back from citations that have a target: those of numpydoc are in a part for LaTeX."""
    targets = {id for node in doctree.findall(nodes.Element) for id in node["ids"]}
    for citation in doctree.findall(nodes.citation):
        citation["backrefs"] = [id for id in citation["backrefs"] if id in targets]


def setup(app: Sphinx) -> dict[str, bool]:
    """Run after numpydoc, and after all references are resolved."""
    app.connect("autodoc-process-docstring", escape, priority=900)
    app.connect("doctree-resolved", without_targets)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
