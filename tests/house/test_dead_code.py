"""What nothing uses is deleted; it is in the history if it is wanted again."""

from __future__ import annotations

import ast
import re
from collections import Counter

from tests.support.source_tree import ROOT, beside, engine, shipped

ENTRANCES = {
    "pyhudi.config.reference": "python -m, makes docs/options.md",
    "pyhudi.runner.in_process": "services that need no Spark, and the tests of the pipeline",
    "airflow_provider_pyhudi.provider_info": "an entry point of the distribution",
    "airflow_provider_pyhudi.sensors.instant": "for DAGs",
    "airflow_provider_pyhudi.operators.compaction": "for DAGs",
    "airflow_provider_pyhudi.operators.upsert": "for DAGs",
}
"""Modules that are imported by none of ours, and by whom they are."""

FOR_OTHERS = {
    "pyhudi/config/versions.py:TableVersion.commit_encoding": "what a version implies, told apart",
    "pyhudi/spark/shuffle_keys.py:spark_hash_int": "the hash that shuffle_keys is the inverse of",
    "pyhudi/timeline/clock.py:FakeClock": "the tests of whatever takes a Clock",
    "pyhudi/timeline/clock.py:FakeClock.advance": "the tests of whatever takes a Clock",
    "pyhudi/timeline/timeline.py:Timeline.last_completed": "a user's question of table.timeline",
}
"""Functions and classes that nothing here calls, and who does."""


def test_every_module_is_used() -> None:
    imported = {
        name
        for module in (*shipped(), *beside())
        for node in ast.walk(module.tree)
        for name in _imported(node)
    } | {text for module in shipped() for text in _dotted_strings(module.tree)}
    dead = [
        module.name
        for module in shipped()
        if not module.is_package and module.name not in imported and module.name not in ENTRANCES
    ]
    assert not dead, f"nothing imports these modules: {dead}. Delete them, or use them"


def test_every_public_function_and_class_is_used_outside_the_tests() -> None:
    texts = [module.text for module in (*shipped(), *beside())]
    texts.append((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    words = Counter(word for text in texts for word in re.findall(r"\w+", text))
    dead = [
        f"{module.where}:{name}"
        for module in engine()
        for name, node in module.definitions()
        if not node.name.startswith("__")
        and words[node.name] < 2
        and f"{module.where}:{name}" not in FOR_OTHERS
    ]
    assert not dead, (
        f"only tests use these, or nothing does: {dead}. Code for later issues waits for them; "
        "delete it, or say in FOR_OTHERS who calls it"
    )


def _imported(node: ast.AST) -> list[str]:
    if isinstance(node, ast.Import):
        return [alias.name for alias in node.names]
    if isinstance(node, ast.ImportFrom) and node.module:
        return [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
    return []


def _dotted_strings(tree: ast.Module) -> list[str]:
    strings = (node.value for node in ast.walk(tree) if isinstance(node, ast.Constant))
    return [text for text in strings if isinstance(text, str) and re.fullmatch(r"[\w.]+", text)]
