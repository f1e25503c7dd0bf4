"""How Sphinx makes the site of these documents: ``make docs``."""

import re
from typing import Any

project = "airflow-provider-pyhudi"
html_title = "Hudi tables from Airflow"
extensions = ["myst_parser"]
html_theme = "furo"
html_show_sourcelink = False
html_copy_source = False
# Anchors of headings, as the pages have them on a forge.
myst_heading_anchors = 4
myst_enable_extensions = ["colon_fence"]
exclude_patterns = ["architecture.md", "decisions", "dependencies.md", "invariants.md", "where.md"]
"""Pages for readers of the source, which stay beside it."""

_LINK = re.compile(r"\[([^\]]*)\]\(((?:\.\./)*)((?:README|decisions/|architecture|where)[^)]*)\)")


def without_links_to_the_source(_app: Any, _name: str, source: list[str]) -> None:
    """Links to pages that are not in the site become their text."""
    source[0] = _LINK.sub(r"\1", source[0])


def setup(app: Any) -> None:
    """What Sphinx calls."""
    app.connect("source-read", without_links_to_the_source)
