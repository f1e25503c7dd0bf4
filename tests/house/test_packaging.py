"""What is installed is what is in the folder: pins, job scripts, the wheel."""

import ast
import re
import subprocess
import sys
import zipfile
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest

from tests.support.source_tree import ENGINE, PROVIDER, ROOT, beside, engine, project, shipped

COMES_ALONG = {
    "argcomplete": "apache-airflow",
    "fastapi": "apache-airflow",
    "jinja2": "apache-airflow",
    "openlineage_sql": "apache-airflow-providers-openlineage, the only caller",
    "py4j": "pyspark",
    "sqlalchemy": "apache-airflow",
}
"""Packages that are imported and come with one that is asked for, or that calls."""

PAIR = ("pyspark", "pyspark-client")

WHAT_TO_DO = (
    "Both wheels write the folder pyspark, so of two versions each overwrites part of the other. "
    "apache-airflow-providers-apache-spark decides the client's version: set both pins in "
    "pyproject.toml to it, delete .venv, run make test, and note it in docs/dependencies.md"
)


def test_pyspark_and_its_client_are_pinned_to_one_version() -> None:
    pins = {name: _requirements()[name] for name in PAIR}
    assert len(set(pins.values())) == 1, f"pyproject.toml pins {pins}. {WHAT_TO_DO}"
    assert all(pin.startswith("==") for pin in pins.values()), (
        f"pyproject.toml leaves pyspark open: {pins}. {WHAT_TO_DO}"
    )


def test_pyspark_is_installed_in_the_version_that_is_pinned() -> None:
    installed = {name: metadata.version(name) for name in PAIR}
    pinned = {name: _requirements()[name].removeprefix("==") for name in PAIR}
    assert installed == pinned, (
        f"installed is {installed}, pyproject.toml pins {pinned}. {WHAT_TO_DO}"
    )


def test_every_dependency_is_bounded_and_explained() -> None:
    open_ended = [f"{name}{bound}" for name, bound in _requirements().items() if "<" not in bound]
    wrong = [entry for entry in open_ended if "==" not in entry]
    assert not wrong, f"these dependencies have no upper bound that was tested: {wrong}"
    page = (ROOT / "docs" / "dependencies.md").read_text(encoding="utf-8")
    missing = [
        f"{name} {bound}" for name, bound in _requirements().items() if f" {bound} |" not in page
    ]
    assert not missing, f"docs/dependencies.md does not say why these bounds are so: {missing}"


def test_what_is_imported_is_asked_for() -> None:
    imported = {name for module in shipped() for name in _top_level_imports(module.tree)}
    foreign = imported - set(sys.stdlib_module_names) - {"pyhudi", "airflow_provider_pyhudi"}
    asked = {"airflow" if name.startswith("apache-airflow") else name for name in _requirements()}
    missing = sorted(foreign - asked - set(COMES_ALONG))
    assert not missing, (
        f"these packages are imported and not in [project] dependencies: {missing}; whoever "
        "installs the wheel may not have them"
    )


def test_every_job_script_is_in_the_wheel() -> None:
    scripts = {f"spark_jobs/{path.name}" for path in (ROOT / "spark_jobs").glob("*.py")}
    included = _wheel()["force-include"]
    assert set(included) == scripts, (
        f"[tool.hatch.build.targets.wheel.force-include] names {sorted(included)}, the folder has "
        f"{sorted(scripts)}: a job script that is not listed is missing for everybody who installs"
    )
    wrong = {source: place for source, place in included.items() if not place.endswith(source)}
    assert not wrong, (
        f"these scripts are included where bundle.py does not look: {wrong}; it looks in "
        "airflow_provider_pyhudi/spark_jobs/"
    )


def test_a_job_script_is_a_request_a_function_and_nothing_more() -> None:
    scripts = [module for module in beside() if module.path.startswith("spark_jobs/")]
    long = [module.path for module in scripts if module.text.count("\n") >= 30]
    assert not long, f"these job scripts do more than hand a request to a function: {long}"
    defining = [module.path for module in scripts if any(module.definitions())]
    assert not defining, f"these job scripts define things; put them into pyhudi: {defining}"


def test_no_job_script_hides_a_module_of_that_name() -> None:
    names = {path.stem for path in (ROOT / "spark_jobs").glob("*.py")}
    taken = names & (set(sys.stdlib_module_names) | {"pyarrow", "numpy", "fastavro", "pyspark"})
    assert not taken, (
        f"job scripts called {sorted(taken)}: Python puts a script's folder first on the path, so "
        "every import of that name would find the script"
    )


def test_the_wheel_holds_the_provider_and_the_engine() -> None:
    packages = sorted((ROOT / name).resolve() for name in _wheel()["packages"])
    assert packages == sorted([ENGINE, PROVIDER]), (
        f"[tool.hatch.build.targets.wheel] packages are {_wheel()['packages']}"
    )
    ignored = _git("check-ignore", "--no-index", *(str(path) for path in _engine_files()))
    assert not ignored, (
        f".gitignore hides {ignored}: hatchling leaves ignored files out of the wheel"
    )


@pytest.fixture(scope="session")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    pytest.importorskip("hatchling", reason="hatchling builds the wheel and is not installed here")
    folder = tmp_path_factory.mktemp("wheel")
    command = [sys.executable, "-m", "hatchling", "build", "-t", "wheel", "-d", str(folder)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, f"the wheel cannot be built: {done.stderr}"
    return zipfile.ZipFile(next(folder.glob("*.whl")))


def test_the_wheel_has_every_file_that_runs(wheel: zipfile.ZipFile) -> None:
    files = {*_engine_files(), *PROVIDER.rglob("*.py")}
    wanted = {
        path.relative_to(ENGINE.parent if ENGINE in path.parents else ROOT).as_posix()
        for path in files
    }
    wanted |= set(_wheel()["force-include"].values())
    missing = sorted(wanted - set(wheel.namelist()))
    assert not missing, f"the wheel lacks {missing}"
    top = {name.split("/")[0] for name in wheel.namelist()}
    strange = sorted(name for name in top - {"pyhudi", PROVIDER.name} if "dist-info" not in name)
    assert not strange, f"the wheel would also install {strange}"


def test_the_engine_in_the_wheel_can_be_imported(wheel: zipfile.ZipFile) -> None:
    done = _python("import pyhudi.actions.rollback as it; print(it.__file__)", wheel.filename or "")
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith(str(wheel.filename))


def test_the_wheel_installs_the_console_command(wheel: zipfile.ZipFile) -> None:
    (name,) = (each for each in wheel.namelist() if each.endswith("dist-info/entry_points.txt"))
    _, _, scripts = wheel.read(name).decode().partition("[console_scripts]\n")
    command, _, place = scripts.splitlines()[0].partition(" = ")
    module, _, function = place.partition(":")
    assert command == "pyhudi"
    done = _python(
        f"from {module} import {function} as main; main(['--help'])", str(wheel.filename)
    )
    assert done.stdout.startswith("usage: pyhudi"), done.stderr


def test_a_file_of_the_engine_is_read_as_a_package_resource() -> None:
    opened = [
        module.path
        for module in engine()
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Name) and node.id == "__file__"
    ]
    assert not opened, (
        f"these modules look for files beside themselves: {opened}. In a zip there are none; use "
        "importlib.resources"
    )


def _top_level_imports(tree: ast.Module) -> set[str]:
    names = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names |= {alias.name.partition(".")[0] for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module:
            names.add(node.module.partition(".")[0])
    return names


def _engine_files() -> list[Path]:
    found = (path for path in ENGINE.rglob("*") if path.is_file())
    return sorted(path for path in found if "__pycache__" not in path.parts)


def _requirements() -> dict[str, str]:
    pairs = (re.fullmatch(r"([\w-]+)(.*)", text) for text in project()["project"]["dependencies"])
    return {found[1]: found[2] for found in pairs if found}


def _wheel() -> dict[str, Any]:
    wheel: dict[str, Any] = project()["tool"]["hatch"]["build"]["targets"]["wheel"]
    return wheel


def _python(script: str, path: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", f"import sys; sys.path.insert(0, {path!r})\n{script}"]
    return subprocess.run(command, capture_output=True, text=True)


def _git(*words: str) -> list[str]:
    done = subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True)
    return done.stdout.splitlines()
