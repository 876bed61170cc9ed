"""Settings of the documentation: `make docs`."""

from importlib.metadata import version as installed

project = "Countless"
author = "The Countless maintainers"
copyright = author
version = release = installed("countless")

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx.ext.viewcode"]
exclude_patterns = ["_build"]
myst_enable_extensions = ["colon_fence", "dollarmath"]
myst_heading_anchors = 4
autodoc_typehints = "description"
autodoc_member_order = "bysource"

html_theme = "furo"
html_title = "Countless"
html_static_path = ["_static"]
html_css_files = ["tables.css"]
html_theme_options = {"navigation_with_keys": True}
