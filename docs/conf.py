"""Settings of the documentation site: Markdown pages through MyST, the Furo theme, built by `make docs`."""

from pathlib import Path

import tacit

project = "Tacit"
author = "The Tacit contributors"
release = version = tacit.__version__
extensions = ["myst_parser"]
source_suffix = {".md": "markdown"}
exclude_patterns = ["README.md"]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4
myst_fence_as_directive = []
html_theme = "furo"
html_title = f"Tacit {version}"
suppress_warnings = ["myst.xref_missing", "myst.header", "misc.highlighting_failure"]
html_extra_path = [str(Path(__file__).with_name("picture.svg"))]
