"""The repository tells nothing of the machine it was written on."""

import functools
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from tests.support.source_tree import ROOT

LOCK_FILES = re.compile(
    r"(^|/)(uv|poetry|pdm|Pipfile)\.lock$|(^|/)(conda-lock\.yml|pylock[\w.]*\.toml|requirements[^/]*\.txt)$"
)
# Each is put together here, so that this file does not break its own rule.
INDEXES = re.compile(
    "|".join(["pypi" + r"\.org", "index" + "-url", "INDEX" + "_URL", r"https?://\S+/simple\b"])
)
MACHINE = re.compile(
    r"(?<![\w.$}/-])/(?:" + "|".join(["work", "root", "home", "Users"]) + r")/[\w.]"
)
LARGEST_BYTES = 400_000

ELSEWHERE: dict[str, str] = {}
"""Files that may name an index or an absolute path, and why."""


def test_no_lock_file_is_kept() -> None:
    locks = [name for name in _names() if LOCK_FILES.search(name)]
    assert not locks, (
        f"these files pin a whole environment: {locks}. They record the index they were made "
        "with, which others cannot reach; bounds are in pyproject.toml"
    )


def test_no_file_names_a_package_index() -> None:
    assert not (found := _lines(INDEXES)), (
        f"these lines name a package index: {found}. Which one to ask is for whoever installs"
    )


def test_no_file_names_a_folder_of_one_machine() -> None:
    assert not (found := _lines(MACHINE)), (
        f"these lines name a folder of one machine: {found}. Find it from the file's own place, or "
        "take it as an argument"
    )


def test_no_large_file_is_kept() -> None:
    sizes = {
        name: size for name in _names() if (size := (ROOT / name).stat().st_size) > LARGEST_BYTES
    }
    assert not sizes, f"these files make every clone slow: {sizes} bytes"


@functools.cache
def _names() -> tuple[str, ...]:
    """The files that are kept, those included that are not added yet."""
    if shutil.which("git") is None or not (ROOT / ".git").exists():
        pytest.skip("not a git checkout: there is no list of the files that are kept")
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    return tuple(sorted(name for name in done.stdout.split("\0") if (ROOT / name).is_file()))


def _lines(pattern: re.Pattern[str]) -> list[str]:
    found = []
    for name in _names():
        text = _text(ROOT / name)
        if name not in ELSEWHERE and pattern.search(text):
            lines = enumerate(text.splitlines(), start=1)
            found += [f"{name}:{number}" for number, line in lines if pattern.search(line)]
    return found


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        return ""
