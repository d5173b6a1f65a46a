"""Pages of the site that follow from something else: docs/README.md, docs/cli.md, and the package's
own registries."""

import importlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import measured

import gramian
from gramian.tables.formats import FORMATS, Format

# Folders of scripts in docs/, and of the pages that sphinx-gallery makes of them.
GALLERIES = {"lessons": "learn", "gallery": "gallery"}
OWN = ("CHANGELOG.md", "CONTRIBUTING.md", "RELEASING.md", "CODE_OF_CONDUCT.md", "SECURITY.md")
ENTRY = re.compile(r"^- \[(?P<title>[^\]]+)\]\((?P<page>[^)]+)\)", re.MULTILINE)
NUMBERED = re.compile(r"^- \[\d+\. [^\]]+\]\((?P<page>[^)]+)\)", re.MULTILINE)
# Generated pages, under the sections of docs/README.md; they exist on the site only.
GENERATED = {
    "Data": ["- [Formats](formats.md): every kind of file that is read"],
    "Reference": [
        "- [Python](reference/api.rst): every public class and function",
        "- [HTTP](http.md): every route of the server",
    ],
    "Project": [
        "- [Measured results](measured.md): every benchmark, with medians, spread, memory and errors",
        "- [Changelog](CHANGELOG.md): what changed for users",
        "- [Contributing](CONTRIBUTING.md): how to change the package",
        "- [Releasing](RELEASING.md): what an owner fills in, and the steps",
        "- [Code of conduct](CODE_OF_CONDUCT.md)",
        "- [Security](SECURITY.md): how to report a weakness",
    ],
}
# Modules that gramian does not import by itself.
ON_DEMAND = ("connect.anndata", "connect.onnx", "connect.xarray")
# What estimators store and functions return.
RESULTS = (
    "core.records.Certificate",
    "core.records.Plan",
    "statistics.component_rules.ComponentChoice",
    "statistics.components.Summary",
    "statistics.associations.Description",
    "answers.compare.Comparison",
    "statistics.normal_model.ProjectionQuality",
    "statistics.sampling.Sampling",
    "answers.choose_components.ComponentChoices",
    "models.events.Events",
    "models.events.RunRules",
    "models.events.RowStatistics",
    "answers.diagnose.Diagnosis",
    "answers.explanation.Explanation",
    "statistics.findings.Finding",
    "answers.rotate.Rotation",
    "answers.stability.Stability",
    "kernels.auditing.AuditReport",
    "kernels.expression.KernelTable",
    "kernels.feature_maps.FeatureMap",
    "select.relations.Relations",
    "select.choose_kernel.KernelSelection",
    "select.wrappers.History",
    "select.mutual_information.MutualInformation",
)


def written(root: Path) -> list[Path]:
    """Return the pages that people wrote."""
    docs = root / "docs"
    pages = [*docs.glob("*.md"), *(docs / "decisions").glob("*.md"), *(root / name for name in OWN)]
    return sorted(page for page in pages if page != docs / "README.md")


def name_of(page: Path, root: Path) -> str:
    """Return the name of a page below the sources of the site."""
    return page.relative_to(root if page.parent == root else root / "docs").as_posix()


def relinked(text: str) -> str:
    """Return a page with its links as they are on the site."""
    text = re.sub(r"\]\(cli\.md#([\w-]+)\)", lambda match: f"](cli/{match[1]}.md)", text)
    text = re.sub(r"\]\((?:\.\./)?docs/", "](", text)
    text = re.sub(r"\]\(lessons/(\w+)\.py\)", rf"]({GALLERIES['lessons']}/\1.rst)", text)
    # A link by the name of a file gets the title of the page.
    text = re.sub(r"\[`?[\w/]+\.md`?\]\((?=[^)]+\.md)", "[](", text)
    text = re.sub(rf"\]\(\.\./({'|'.join(OWN)})\)", r"](\1)", text)
    # The site has no copy of the example scripts: their paths stay as text.
    text = re.sub(r"\[[^\]]+\]\(\.\./(examples/[\w.]+)\)", r"`\1`", text)
    return text.replace("](README.md)", "](index.md)")


def with_decisions(text: str) -> str:
    """Return the list of decisions with its table of contents."""
    return text + toctree([match["page"].removesuffix(".md") for match in NUMBERED.finditer(text)])


def generated(root: Path) -> dict[str, str]:
    """Return the text of every generated page by its name."""
    docs = root / "docs"
    sections = dict(section_pages((docs / "README.md").read_text(encoding="utf-8"), docs))
    return {
        "index.md": (docs / "site" / "index.md").read_text(encoding="utf-8")
        + toctree(sections_in_order(sections, docs)),
        **sections,
        **command_pages((docs / "cli.md").read_text(encoding="utf-8")),
        "formats.md": formats(),
        "http.md": http(),
        **measured.pages(root / "benchmarks" / "results"),
        "reference/api.rst": reference(),
    }


def toctree(entries: list[str], depth: int = 1) -> str:
    """Return a hidden table of contents."""
    lines = "\n".join(entries)
    return f"\n```{{toctree}}\n:hidden:\n:maxdepth: {depth}\n\n{lines}\n```\n"


def section_pages(index: str, docs: Path) -> Iterator[tuple[str, str]]:
    """Yield a page for each section of docs/README.md: its entries, which are also its table of contents."""
    for part in index.split("\n## ")[1:]:
        title, _, body = part.partition("\n")
        entries = "\n".join([body.strip(), *GENERATED.get(title, [])])
        tree = [
            f"{match['title']} </{match['page'].rpartition('.')[0]}>" for match in ENTRY.finditer(entries)
        ]
        entries = relinked(entries).replace("](", "](../")
        yield f"sections/{title.lower()}.md", f"# {title}\n\n{entries}\n{toctree(tree, 2)}"


def sections_in_order(sections: dict[str, str], docs: Path) -> list[str]:
    """Return the entries of the root: the sections, and the gallery and the lessons before the reference."""
    names = [name.removesuffix(".md") for name in sections]
    place = names.index("sections/reference")
    built = [name for scripts, name in GALLERIES.items() if (docs / scripts).is_dir()]
    names[place:place] = [f"{name.capitalize()} <{name}/index>" for name in sorted(built)]
    return names


def command_pages(text: str) -> dict[str, str]:
    """Return docs/cli.md as a page for what holds for all commands, and a page for each."""
    first, *parts = text.split("\n## ")
    pages, lines = {}, []
    for part in parts:
        name, _, written = part.partition("\n")
        body = relinked(re.sub(r"^### ", "## ", written, flags=re.MULTILINE))
        body = re.sub(r"\]\((?=#)", "](cli.md", body)  # places of what holds for all commands
        body = re.sub(r"\]\((?!https?:|cli/)", "](../", body).replace("](cli/", "](")
        pages[f"cli/{name}.md"] = f"# gramian {name}\n{body}\n"
        paragraph = plain(" ".join(written.strip().partition("\n\n")[0].split()))
        sentence = re.split(r"(?<=[.:])\s", paragraph)[0].rstrip(":")
        lines.append(f"- [`gramian {name}`](cli/{name}.md): {sentence}")
    listed = "\n".join(lines)
    tree = toctree([f"{name.removesuffix('.md')}" for name in pages])
    first = re.sub(r"^### ", "## ", relinked(first), flags=re.MULTILINE)
    return {"cli.md": f"{first}\n\n## Commands\n\n{listed}\n{tree}", **pages}


def plain(text: str) -> str:
    """Return text without links."""
    return re.sub(r"\[([^\]]+)\]\([^)]*\)", r"\1", text)


def formats() -> str:
    """Return the page of formats, from the registry that reading uses."""
    lines = [
        "# Formats",
        "",
        "gramian recognises a file by its name, and by its first bytes if the name says nothing. Large files "
        "that can stay on disk are read block by block; others are read as a whole. `FILE::NAME` selects one "
        "of several arrays or sheets in a file.",
        "",
        "| format | names | content | `FILE::NAME` | block by block | with .gz | marks of missing values |",
        "|---|---|---|---|---|---|---|",
    ]
    for format in FORMATS:
        marks = (format.keyed, format.in_blocks, format.packed, format.marks)
        cells = [
            format.name,
            names_of(format),
            content_of(format),
            *("yes" if mark else "" for mark in marks),
        ]
        lines.append(f"| {' | '.join(cells)} |")
    lines += [
        "",
        "*Marks of missing values* are words such as `NA`, to which `--na-values` adds further ones. "
        "[Scientific files](containers.md) explains HDF5, .h5ad and sparse matrices, "
        "[Genomes](genomes.md) genotypes, and "
        "[Data larger than memory](large_data.md) what is read block by block. In Python, an array, a frame "
        "of pandas or polars, a sparse matrix and a Dask array are accepted too.",
        "",
    ]
    return "\n".join(lines)


def names_of(format: Format) -> str:
    """Return how names of such files end."""
    return " ".join(f"`{suffix}`" for suffix in format.suffixes) or format.listed


def content_of(format: Format) -> str:
    """Return what the function that reads a format says it returns."""
    doc = (format.open.__doc__ or "").removeprefix("Return ")
    doc = doc[:1].upper() + doc[1:]
    return " ".join(doc.partition("\n\n")[0].split()).rstrip(".").replace("|", r"\|")


def http() -> str:
    """Return the page of routes, from the schema that the server itself answers with."""
    from gramian.app.server.app import create_app

    schema = create_app().openapi()
    lines = [
        "# HTTP",
        "",
        "`gramian serve` answers these routes; it serves the same list at `/openapi.json`. "
        "[The server](service.md) explains tokens, limits and examples. An error has a JSON "
        "body with one text, `error`.",
        "",
    ]
    for path, methods in schema["paths"].items():
        for method, route in methods.items():
            lines += [f"## {method.upper()} {path}", "", " ".join(route.get("description", "").split()), ""]
            rows = [
                (f"`{one['name']}`", one["in"], type_of(one["schema"]), one.get("description", ""))
                for one in route.get("parameters", [])
            ]
            lines += table(("parameter", "in", "type", "meaning"), rows)
            for kind, body in route.get("requestBody", {}).get("content", {}).items():
                name = body.get("schema", {}).get("$ref", "").rpartition("/")[2]
                lines += [f"The body is `{kind}`{f', a [{name}](#{name.lower()})' if name else ''}.", ""]
            codes = [code for code in sorted(route["responses"]) if code.startswith("2")]
            errors = [code for code in sorted(route["responses"]) if not code.startswith("2")]
            answer = ", ".join(f"{code} with {answer_of(route['responses'][code])}" for code in codes)
            lines += [f"Answers {answer}" + (f"; errors: {', '.join(errors)}." if errors else "."), ""]
    lines += ["## Bodies", ""]
    for name, model in sorted(schema["components"]["schemas"].items()):
        lines += [f"### {name}", "", " ".join(model.get("description", "").split()), ""]
        lines += table(("field", "type", "meaning"), fields(model))
    return "\n".join(lines)


def table(heads: tuple[str, ...], rows: list[tuple[str, ...]]) -> list[str]:
    """Return the lines of a table, none without rows."""
    if not rows:
        return []
    cells = [[" ".join(str(cell).split()).replace("|", r"\|") for cell in row] for row in rows]
    return [
        f"| {' | '.join(heads)} |",
        "|---" * len(heads) + "|",
        *(f"| {' | '.join(row)} |" for row in cells),
        "",
    ]


def fields(model: dict[str, Any]) -> list[tuple[str, str, str]]:
    """Return the fields of an object of the schema: name, type and description."""
    properties = model.get("properties", {}).items()
    return [(f"`{name}`", type_of(one), one.get("description", "")) for name, one in properties]


def type_of(one: dict[str, Any]) -> str:
    """Return a type of the schema in words."""
    if "$ref" in one:
        name = one["$ref"].rpartition("/")[2]
        return f"[{name}](#{name.lower()})"
    if "enum" in one or "const" in one:
        return ", ".join(f"`{value}`" for value in one.get("enum", [one.get("const")]))
    for several in ("anyOf", "oneOf", "allOf"):
        if several in one:
            return " or ".join(dict.fromkeys(type_of(each) for each in one[several]))
    kind = one.get("type", "any value")
    return f"array of {type_of(one['items'])}" if kind == "array" and "items" in one else kind


def answer_of(response: dict[str, Any]) -> str:
    """Return what an answer has as its body."""
    kinds = []
    for kind, content in response.get("content", {}).items():
        ref = content.get("schema", {}).get("$ref", "").rpartition("/")[2]
        kinds.append(f"`{kind}`" + (f" ([{ref}](#{ref.lower()}))" if ref else ""))
    return " or ".join(kinds) or "no body"


def reference() -> str:
    """Return the list of all public names, each with a page that autodoc writes."""
    names = [name for name in gramian.__all__ if name != "__version__"]
    values = {name: getattr(gramian, name) for name in names}
    modules = [name for name in names if type(values[name]).__name__ == "module"]
    classes = [name for name in names if isinstance(values[name], type) and name[0].isupper()]
    functions = [name for name in names if name not in {*modules, *classes}]
    groups = [
        (
            "Estimators",
            "They follow scikit-learn: parameters in the constructor, results in attributes.",
            classes,
        ),
        ("Functions", "", functions),
    ]
    text = "Python\n======\n"
    for title, about, members in groups:
        text += listed(title, about, [f"gramian.{name}" for name in members])
    for module in sorted({*modules, *ON_DEMAND} - {"errors"}):
        package = importlib.import_module(f"gramian.{module}")
        public = [name for name in package.__all__ if is_documented(package, name)]
        about = " ".join((package.__doc__ or "").partition("\n\n")[0].split())
        text += listed(f"gramian.{module}", about, [f"gramian.{module}.{name}" for name in public])
    text += listed(
        "Results", "What estimators store and functions return.", [f"gramian.{name}" for name in RESULTS]
    )
    about = "Every error is a ``GramianError`` and also the built-in exception that existing handlers expect."
    names = [f"gramian.errors.{name}" for name in gramian.errors.__all__]
    return text + listed("Errors and warnings", about, names)


def is_documented(package: Any, name: str) -> bool:
    """Return whether a public name is a class or function of gramian, not a constant."""
    value = getattr(package, name)
    return callable(value) and getattr(value, "__module__", "").startswith("gramian")


def listed(title: str, about: str, names: list[str]) -> str:
    """Return a section with a table of names."""
    lines = "\n".join(
        f"   ~{name}" for name in sorted(names, key=lambda name: name.rpartition(".")[2].lower())
    )
    head = f"\n{title}\n{'-' * len(title)}\n\n{about}\n"
    return f"{head}\n.. autosummary::\n   :toctree: api\n   :nosignatures:\n\n{lines}\n"
