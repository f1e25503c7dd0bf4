"""The site of the documents is built without a warning, and asks nothing of other hosts."""

import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.support.source_tree import ROOT

FETCHED = re.compile(r"<(?:script|link|img|iframe)\b[^>]*(?:src|href)=\"(?:https?:)?//[^\"]+")


@pytest.mark.skipif(find_spec("sphinx") is None, reason="sphinx is not installed (make setup)")
def test_the_site_is_built_and_fetches_nothing(tmp_path: Path) -> None:
    command = ["-m", "sphinx", "-q", "-W", "--keep-going", "-b", "html", ROOT / "docs", tmp_path]
    done = subprocess.run([sys.executable, *map(str, command)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    pages = sorted(tmp_path.rglob("*.html"))
    assert {"index.html", "quickstart.html", "operators.html"} <= {page.name for page in pages}
    fetched = [
        found for page in pages for found in FETCHED.findall(page.read_text(encoding="utf-8"))
    ]
    assert fetched == []
