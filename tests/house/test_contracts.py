"""Who may import whom: the contracts of pyproject.toml, kept and complete."""

import ast
from typing import Any

from tests.support.source_tree import project, run_python, shipped


def test_every_import_keeps_to_the_layers() -> None:
    script = "from importlinter.cli import lint_imports_command; lint_imports_command()"
    done = run_python("-c", script)
    assert done.returncode == 0, (
        f"a contract of [tool.importlinter] is broken; docs/architecture.md says why it is there\n"
        f"{done.stdout[-3000:]}{done.stderr[-1000:]}"
    )


def test_the_layers_leave_no_part_of_the_engine_out() -> None:
    layers = next(found for found in _contracts() if found["type"] == "layers")
    placed = {name.strip() for layer in layers["layers"] for name in layer.split("|")}
    parts = {module.name.split(".")[1] for module in shipped() if "pyhudi." in module.name[:7]}
    assert placed == parts, (
        f"without a layer: {sorted(parts - placed)}; a layer without code: {sorted(placed - parts)}"
    )
    assert layers.get("exhaustive"), "the contract of the layers must be exhaustive"


def test_what_is_said_to_be_pure_exists() -> None:
    names = {module.name for module in shipped()}
    listed = {
        name
        for contract in _contracts()
        for key in ("source_modules", "forbidden_modules", "protected_modules")
        for name in contract.get(key, ())
        if name.startswith(("pyhudi", "airflow_provider_pyhudi"))
    }
    gone = sorted(listed - names)
    assert not gone, f"contracts speak of modules that do not exist: {gone}"


def _contracts() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = project()["tool"]["importlinter"]["contracts"]
    return found


def test_the_commit_point_is_one_line() -> None:
    found = [
        f"{module.where}:{node.lineno}"
        for module in shipped()
        for node in ast.walk(module.tree)
        if isinstance(node, ast.Attribute)
        and node.attr == "complete"
        and ast.unparse(node.value).endswith("active")
    ]
    assert len(found) == 1, (
        f"instants are completed at {found}. Whatever is done before readers see a commit is done "
        "for all of them at one place: call complete_instant, or better run an InstantRun"
    )
