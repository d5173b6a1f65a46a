"""Pictures of the examples: sphinx-gallery imports this module and calls ``save_charts`` after each
block."""

from pathlib import Path

from sphinx_gallery.scrapers import figure_rst

LARGEST = 500_000  # bytes of an .svg that a page loads


def save_charts(block, block_vars, gallery_conf):
    """Save the value of a block's last line, if it is a chart or a picture; return its reStructuredText.

    Charts become SVG, and pictures and charts of very many marks PNG, all without a browser or a network.
    """
    variables = block_vars["example_globals"]
    last = variables.get("___")  # of this block, or still that of an earlier one
    module = type(last).__module__
    if last is variables.get("__shown__") or not module.startswith(("altair.", "gramian.figures")):
        return ""
    variables["__shown__"] = last
    path = Path(next(block_vars["image_path_iterator"]))
    path = path.with_suffix(".svg" if hasattr(last, "to_dict") else ".png")
    last.save(str(path))
    if path.stat().st_size > LARGEST:
        path.unlink()
        path = path.with_suffix(".png")
        last.save(str(path))
    return figure_rst([str(path)], gallery_conf["src_dir"], "Figure of the code above")


def _get_sg_image_scraper():
    """Return the scraper: conf.py names this module, because Sphinx cannot pickle a function."""
    return save_charts
