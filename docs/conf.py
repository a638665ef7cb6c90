"""How the pages are built: ``scripts/docs``."""

project = "maxmargin"
author = "the maxmargin developers"
extensions = ["myst_nb"]
exclude_patterns = ["_build"]
myst_enable_extensions = ["dollarmath"]
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 300
html_theme = "furo"
html_title = "maxmargin"
