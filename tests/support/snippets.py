"""The code that the pages show: every fenced block, and who runs it."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.source_tree import ROOT

TABLE = "/data/flights"
"""The table of the pages; where a snippet runs, it is one of the test's."""

_FENCED = re.compile(r"^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_INLINE = re.compile(r"`((?:python|make|pip|spark-submit) [^`]+)`")


@dataclass(frozen=True, slots=True, kw_only=True)
class Snippet:
    """A fenced block: its page below the root, the line of its first line, its language."""

    page: str
    line: int
    language: str
    code: str

    @property
    def runner(self) -> str:
        """What a block of Python needs: ``airflow``, ``spark`` or nothing (``python``)."""
        tree = ast.parse(self.code)
        imported = {
            name
            for node in ast.walk(tree)
            for name in (
                [alias.name for alias in node.names]
                if isinstance(node, ast.Import)
                else [node.module or ""]
                if isinstance(node, ast.ImportFrom)
                else []
            )
        }
        if any(name.startswith("airflow") for name in imported):
            return "airflow"
        return "spark" if imported & {"pyhudi.spark", "pyspark"} else "python"

    def run(self, table: Path, **names: Any) -> dict[str, Any]:
        """Carry it out on a table, with what it takes for granted; its names afterwards."""
        code = "\n" * (self.line - 1) + self.code.replace(TABLE, str(table))
        exec(compile(code, self.page, "exec"), names)
        return names


@functools.cache
def pages() -> tuple[Path, ...]:
    """Every page of the repository."""
    folders = [ROOT / name for name in ("benchmarks", "dags", "docs", "scripts", "tests")]
    inner = (path for folder in folders for path in folder.rglob("*.md"))
    return (*sorted(ROOT.glob("*.md")), *sorted(inner))


def snippets(language: str, runner: str = "") -> list[Any]:
    """The blocks of a language as parameters of a test; of Python, those that one runner runs."""
    found = [each for page in pages() for each in _snippets(page) if each.language == language]
    wanted = [each for each in found if not runner or each.runner == runner]
    return [pytest.param(each, id=f"{each.page}:{each.line}") for each in wanted]


def commands() -> list[Any]:
    """The command lines of the pages, those in the midst of a sentence included."""
    found = {}
    for page in pages():
        name = page.relative_to(ROOT).as_posix()
        for each in _snippets(page):
            if each.language == "sh":
                lines = each.code.replace("\\\n", " ").splitlines()
                found.update({line.partition("#")[0].strip(): name for line in lines})
        text = _FENCED.sub("", page.read_text(encoding="utf-8"))
        found.update(dict.fromkeys(_INLINE.findall(text), name))
    return [pytest.param(line, id=f"{name}: {line[:50]}") for line, name in found.items() if line]


def _snippets(page: Path) -> Iterator[Snippet]:
    text = page.read_text(encoding="utf-8")
    found = list(_FENCED.finditer(text))
    if 2 * len(found) != len(re.findall(r"```|~~~", text)):
        raise ValueError(f"{page} has a fence that is no block: ```language at the line's start")
    for match in found:
        yield Snippet(
            page=page.relative_to(ROOT).as_posix(),
            line=text.count("\n", 0, match.start()) + 2,
            language=match[1],
            code=match[2],
        )
