"""How the pages are built: ``scripts/docs``."""

import re
from html import unescape
from pathlib import Path

project = "maxmargin"
author = "the maxmargin developers"
extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.napoleon"]
exclude_patterns = ["_build"]
myst_enable_extensions = ["dollarmath"]
myst_heading_anchors = 2
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 300
html_theme = "furo"
html_title = "maxmargin"

# The reference in api/ is rendered from the docstrings: every public member that has one.
autodoc_default_options = {"members": True, "member-order": "bysource"}
autodoc_typehints = "none"  # the docstrings say types and shapes
autodoc_preserve_defaults = True
napoleon_google_docstring = False
napoleon_use_param = False  # a type stands as it was written, and several names share one entry
napoleon_use_rtype = False
napoleon_custom_sections = [("Attributes", "params_style")]  # likewise, and properties keep entries of their own
python_maximum_signature_line_length = 100
toc_object_entries_show_parents = "hide"


def skip_member(app, what, name, obj, skip, options):
    """Leave out what other libraries add to a class: scikit-learn's ``set_fit_request``, entries of named tuples."""
    added = name.startswith("set_") and name.endswith("_request")
    return True if added or str(getattr(obj, "__doc__", "")).startswith("Alias for field number") else None


def keep_sentence(app, what, name, obj, options, lines):
    """An empty comment first: napoleon takes what stands before a colon in a property's first line for its type."""
    if what in ("attribute", "data", "property"):
        lines[:0] = ["..", ""]


BARE = re.compile(r"<Figure size[^<>]*>| at 0x[0-9a-fA-F]+|<Axes: [^<>]*>")


def refuse_bare_objects(app, exception):
    """No page shows the name of an object in memory where its reader is promised a picture."""
    if exception is not None or app.builder.format != "html":
        return
    for name in sorted(app.env.found_docs):
        page = Path(app.outdir) / f"{name}.html"
        text = unescape(re.sub(r"<[^<>]+>", "", page.read_text(encoding="utf-8")))
        if found := BARE.search(text):
            raise ValueError(f"{page}: a cell shows {found[0].strip()!r}; it must end with a display, or print")


def setup(app):
    """Called by Sphinx."""
    app.connect("build-finished", refuse_bare_objects)
    app.connect("autodoc-skip-member", skip_member)
    app.connect("autodoc-process-docstring", keep_sentence, priority=400)  # before napoleon
