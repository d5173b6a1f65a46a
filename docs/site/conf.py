"""Configuration of Sphinx for the site; ``build.py`` stages its sources and calls it."""

import sys
from pathlib import Path

from gramian.core.package import __version__

HERE = Path(__file__).parent
DOCS = HERE.parent
sys.path.insert(0, str(HERE))

from pages import GALLERIES  # noqa: E402  (beside this file)

project = "gramian"
copyright = "gramian developers"
version = release = __version__

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "myst_parser",
    "sphinx_design",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
    "mathml",
    "docstrings",
]
source_suffix = {".md": "markdown", ".rst": "restructuredtext"}
exclude_patterns = ["**/GALLERY_HEADER.rst", "**/README.txt"]
templates_path = [str(HERE / "templates")]
html_math_renderer = "mathml"

myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence"]

nitpicky = True
# Types of other packages: their documentation is not on this machine, and the site is built without
# a network. Nor do types that only the package itself uses have pages.
nitpick_ignore_regex = [
    (r"py:.*", r"(?!gramian\b).*"),
    (r"py:.*", r"gramian\.(?!errors\.|faces\.|kernels\.|figures\.)\w+\..*"),
    (r"py:.*", r"gramian\.(?:faces|kernels|figures)\.\w+\..*"),
]

autosummary_generate = True
autosummary_ignore_module_all = False
autodoc_typehints = "signature"
autodoc_typehints_format = "short"
autodoc_member_order = "groupwise"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False
numpydoc_xref_param_type = False

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

EXAMPLES = {DOCS / scripts: built for scripts, built in GALLERIES.items() if (DOCS / scripts).is_dir()}
sphinx_gallery_conf = {
    "examples_dirs": [str(folder) for folder in EXAMPLES],
    "gallery_dirs": list(EXAMPLES.values()),
    "filename_pattern": r"\.py$",
    "within_subsection_order": "FileNameSortKey",
    "image_scrapers": ("matplotlib",),
    "image_srcset": ["2x"],
    "reset_modules": (),
    "capture_repr": ("_repr_html_", "__repr__"),
    "ignore_repr_types": r"matplotlib|gramian\.figures",
    "abort_on_example_error": False,  # the others are built too; the exit code tells
    "only_warn_on_example_error": False,
    "remove_config_comments": True,
    "show_memory": False,
    "write_computation_times": False,  # a page that loads scripts from elsewhere
    "show_signature": False,
    "min_reported_time": 10,
    "thumbnail_size": (400, 280),
    "default_thumb_file": str(DOCS / "images" / "rings.png"),
    "doc_module": (),
    "plot_gallery": True,
}

html_theme = "pydata_sphinx_theme"
html_title = f"gramian {version}"
html_static_path = [str(HERE / "static")]
html_css_files = ["site.css"]
html_show_sourcelink = False
html_copy_source = False
html_theme_options = {
    "logo": {"text": "gramian"},
    "header_links_before_dropdown": 9,
    "navbar_align": "left",
    "navbar_end": ["theme-switcher"],
    "navbar_persistent": ["search-button"],
    "show_prev_next": True,
    "show_toc_level": 2,
    "navigation_depth": 3,
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {"index": []}
