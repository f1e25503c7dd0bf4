"""The shipped Python files as syntax trees, for the tests of the house style."""

import ast
import functools
import gc
import hashlib
import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import tomllib

ROOT = Path(__file__).resolve().parents[2]
ENGINE = ROOT / "spark_jobs" / "pyhudi"
PROVIDER = ROOT / "airflow_provider_pyhudi"

Function = ast.FunctionDef | ast.AsyncFunctionDef
Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


@dataclass(frozen=True, slots=True, kw_only=True)
class Module:
    """One file: its path below the root, its import name, its text and its tree."""

    path: str
    name: str
    text: str
    tree: ast.Module

    @property
    def where(self) -> str:
        """The path as the lists of exceptions write it, without ``spark_jobs/``."""
        return self.path.removeprefix("spark_jobs/")

    @property
    def is_package(self) -> bool:
        return self.path.endswith("__init__.py")

    def definitions(self) -> Iterator[tuple[str, Definition]]:
        """Every class and function with its dotted name, those inside others included."""
        yield from _definitions(self.tree, "")


@functools.cache
def shipped() -> tuple[Module, ...]:
    """The modules of the engine and of the provider."""
    return (*_modules(ENGINE), *_modules(PROVIDER))


def definitions(*modules: Module) -> Iterator[tuple[str, Definition]]:
    """Every class and function of these modules, or of all that are shipped, with its place."""
    for module in modules or shipped():
        for name, node in module.definitions():
            yield f"{module.where}:{name}", node


def classes() -> Iterator[tuple[str, ast.ClassDef]]:
    """Every class that is shipped, with its place."""
    for where, node in definitions():
        if isinstance(node, ast.ClassDef):
            yield where, node


@functools.cache
def engine() -> tuple[Module, ...]:
    return _modules(ENGINE)


@functools.cache
def beside() -> tuple[Module, ...]:
    """The files that use what is shipped: job scripts, DAGs, the demo, the benchmarks."""
    folders = ("spark_jobs", "dags", "scripts", "benchmarks")
    files = [file for folder in folders for file in sorted((ROOT / folder).glob("*.py"))]
    return tuple(_parse(file, ROOT / file.parent.name) for file in files)


def project() -> dict[str, Any]:
    """What pyproject.toml says."""
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def run_python(*words: str, path: Sequence[str] = ("spark_jobs", "")) -> CompletedProcess[str]:
    """What another Python does with these words, which imports from these folders of ours."""
    found = os.pathsep.join(str(ROOT / folder) for folder in path)
    return subprocess.run(
        [sys.executable, *words],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": found},
        capture_output=True,
        text=True,
        check=False,
    )


def parse(file: Path) -> tuple[str, ast.Module]:
    """The text of a Python file and its syntax tree.

    No garbage is collected meanwhile: what finalizers of other tests' objects log with a
    traceback is parsed too, and in the midst of a parse CPython 3.11 fails on that ("AST
    constructor recursion depth mismatch").
    """
    text = file.read_text(encoding="utf-8")
    collecting = gc.isenabled()
    gc.disable()
    try:
        return text, ast.parse(text, filename=str(file))
    finally:
        if collecting:
            gc.enable()


def docstrings(tree: ast.AST) -> set[int]:
    """The ids of the string nodes that are docstrings."""
    owners = (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)
    return {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, owners) and node.body and isinstance(node.body[0], ast.Expr)
    }


def seed_of(folder: Path) -> int:
    """A number made of the code below a folder: wording and layout of the text do not change it."""
    digest = hashlib.sha256()
    for file in sorted(folder.rglob("*.py")):
        _, tree = parse(file)
        for node in ast.walk(tree):
            body = getattr(node, "body", None)
            if isinstance(body, list):
                node.body = [each for each in body if not _is_text(each)]
        digest.update(ast.unparse(tree).encode())
    return int.from_bytes(digest.digest()[:4])


def code_lines(module: Module, node: Definition) -> int:
    """Lines of a definition that hold code: no docstring, no comment, no blank line."""
    first = node.body[0]
    has_docstring = ast.get_docstring(node, clean=False) is not None
    silent = range(first.lineno, (first.end_lineno or first.lineno) + 1) if has_docstring else ()
    lines = module.text.splitlines()
    numbers = range(node.lineno, (node.end_lineno or node.lineno) + 1)
    texts = (lines[number - 1].strip() for number in numbers if number not in silent)
    return sum(1 for text in texts if text and not text.startswith("#"))


def base_name(node: ast.expr) -> str:
    """The name of a base class or decorator, without module, call or type arguments."""
    while isinstance(node, (ast.Subscript, ast.Call)):
        node = node.value if isinstance(node, ast.Subscript) else node.func
    return node.attr if isinstance(node, ast.Attribute) else ast.unparse(node)


def _modules(folder: Path) -> tuple[Module, ...]:
    return tuple(_parse(file, folder.parent) for file in sorted(folder.rglob("*.py")))


def _parse(file: Path, top: Path) -> Module:
    text, tree = parse(file)
    parts = file.relative_to(top).with_suffix("").parts
    name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
    return Module(path=file.relative_to(ROOT).as_posix(), name=name, text=text, tree=tree)


def _is_text(node: ast.AST) -> bool:
    """Whether a statement is a text and nothing else: a docstring."""
    return (
        isinstance(node, ast.Expr)
        and isinstance(node.value, ast.Constant)
        and isinstance(node.value.value, str)
    )


def _definitions(node: ast.AST, prefix: str) -> Iterator[tuple[str, Definition]]:
    for child in ast.iter_child_nodes(node):
        if isinstance(child, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            yield f"{prefix}{child.name}", child
            yield from _definitions(child, f"{prefix}{child.name}.")
        else:
            yield from _definitions(child, prefix)
