"""Configuration of Sphinx for `make docs`: the project's Markdown, unchanged, and a reference of the code."""

import sys
from pathlib import Path

PROJECT_FOLDER = Path(__file__).parents[2]
sys.path[:0] = [str(PROJECT_FOLDER), str(Path(__file__).parent)]

project = "Flightpath"
copyright = "the authors of Flightpath, Apache-2.0"

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "reference"]
autodoc_typehints = "signature"
autodoc_member_order = "bysource"
source_suffix = {".md": "markdown"}
root_doc = "docs/index"
include_patterns = [
    "*.md",
    "docs/*.md",
    "docs/reference/*.md",
    "congestion/README.md",
    "execution/uml/schedulers/README.md",
]

# Anchors as GitHub makes them, so that a link works there and here.
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence"]

html_theme = "furo"
html_title = "Flightpath"
html_show_sourcelink = False
html_copy_source = False
