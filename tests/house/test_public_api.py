"""What ``import pyhudi`` offers, and what it costs."""

import ast
import importlib
import inspect
import subprocess
import sys

import pytest

import pyhudi
from pyhudi import errors
from tests.support.source_tree import ROOT, Module, engine

HEAVY = ("airflow", "fastavro", "numpy", "pandas", "pyarrow", "pyspark")
LIGHT = (
    "pyhudi",
    "pyhudi.jobs.upsert",
    "pyhudi.errors",
    "pyhudi.config.write",
    "pyhudi.config.known",
)
"""What Airflow imports when it parses a DAG."""


@pytest.mark.parametrize("name", LIGHT)
def test_importing_it_loads_no_heavy_library(name: str) -> None:
    script = f"import sys, {name}\nprint(sorted(set({HEAVY!r}) & set(sys.modules)))"
    assert (loaded := _printed(script)) == "[]", (
        f"import {name} loads {loaded}. The scheduler parses DAGs all day: what is "
        "heavy is imported by the modules that need it, and public names are looked up on first use"
    )


@pytest.mark.parametrize("name", pyhudi.__all__)
def test_every_public_name_is_found_where_it_is_said_to_be(name: str) -> None:
    assert getattr(pyhudi, name).__name__ == name


@pytest.mark.parametrize("package", ["pyhudi", "pyhudi.spark"])
def test_a_package_names_what_it_offers_once_for_people_and_once_for_type_checkers(package: str):
    module = next(module for module in engine() if module.name == package)
    offered = importlib.import_module(package).__all__
    assert list(offered) == sorted(offered), f"{package}.__all__ is not sorted: {offered}"
    assert set(offered) == _typed_names(module), (
        f"{package}.__all__ and its imports under TYPE_CHECKING differ: a name that is looked up "
        "on first use must stand in both, or editors and mypy do not know it"
    )


def test_what_a_write_returns_is_public() -> None:
    script = (
        f"import sys, pyhudi\nfrom pyhudi import JobResult\n"
        f"print(JobResult.__module__, sorted(set({HEAVY!r}) & set(sys.modules)))"
    )
    assert _printed(script) == "pyhudi.jobs.result []"
    (write,) = [
        node
        for module in engine()
        for name, node in module.definitions()
        if module.name.startswith("pyhudi.spark") and name == "write"
    ]
    assert isinstance(write, ast.FunctionDef)
    assert write.returns is not None
    assert ast.unparse(write.returns) in pyhudi.__all__, (
        f"pyhudi.spark.write returns {ast.unparse(write.returns)}, which no user can import"
    )


def test_every_error_is_public() -> None:
    names = [
        name
        for name, value in vars(errors).items()
        if inspect.isclass(value) and issubclass(value, Exception)
    ]
    assert set(names) <= set(pyhudi.__all__), (
        f"{sorted(set(names) - set(pyhudi.__all__))} can be raised but not caught by a public name"
    )


def test_a_name_that_is_not_public_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        pyhudi.nothing  # noqa: B018


def _printed(script: str) -> str:
    """What a fresh Python with nothing but the engine on its path prints."""
    done = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(ROOT / "spark_jobs")},
        check=True,
    )
    return done.stdout.strip()


def _typed_names(module: Module) -> set[str]:
    return {
        alias.name
        for node in module.tree.body
        if isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"
        for statement in node.body
        if isinstance(statement, ast.ImportFrom)
        for alias in statement.names
    }
