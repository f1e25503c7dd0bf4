"""Every public thing says what it is for; what comes from Hudi says from where."""

import ast
import re

from tests.support.source_tree import Definition, Module, beside, definitions, engine, shipped

SECTIONS = ("Shapes", "Units", "Raises", "Guarantees", "Not", "Source")

FROM_HUDI = (
    "actions",
    "basefile.bloom",
    "basefile.footer",
    "config.properties",
    "config.table",
    "filegroup.names",
    "filegroup.view",
    "index",
    "keys.generators",
    "keys.partition_path",
    "keys.record_key",
    "logfile",
    "merge",
    "services",
    "timeline.layout",
    "transaction.heartbeat",
    "transaction.markers",
    "write.plan.buckets",
    "write.plan.sizing",
)
"""Modules, or packages, whose bytes, names or steps are Hudi's."""

OUR_OWN = {
    "pyhudi.actions.container": "how plans lie in their files; cited where it is used",
    "pyhudi.actions.file_group": "a name of ours for a pair of texts",
    "pyhudi.actions.json_text": "how Jackson prints; cited where it is used",
    "pyhudi.logfile.merge.keyed_spill": "temporary files, which Hudi never sees",
    "pyhudi.logfile.merge.row_file": "temporary files, which Hudi never sees",
    "pyhudi.merge.choice": "takes the values that a rule has chosen",
    "pyhudi.merge.custom": "mergers in Python, which Hudi does not have",
    "pyhudi.services.compaction.kinds": "names the functions of two modules, each of which cites",
}
"""Modules among these that hold nothing of Hudi's, and what they hold."""


def test_a_module_says_what_it_is_about() -> None:
    silent = [
        module.path
        for module in (*shipped(), *beside())
        if not _text(module.tree).endswith((".", "```", ")", "::", '"'))
    ]
    assert not silent, (
        f"these modules do not begin with a sentence: {silent}. Say what the module is for"
    )


def test_a_package_says_its_noun_and_holds_nothing_else() -> None:
    wrong = [
        module.path
        for module in engine()
        if module.is_package
        and module.name not in ("pyhudi", "pyhudi.spark")
        and (len(module.tree.body) > 1 or not 3 <= module.text.count("\n") <= 8)
    ]
    assert not wrong, (
        f"these __init__.py hold more, or less, than a docstring of 3 to 8 lines: {wrong}. Say the "
        "package's noun and what it may not do; names are imported from the module they live in"
    )


def test_everything_public_has_a_docstring() -> None:
    silent = [
        f"{module.where}:{name}"
        for module in shipped()
        for name, node in module.definitions()
        if _is_public(module, name, node) and not _text(node)
    ]
    assert not silent, (
        f"these public things say nothing of what they are for: {silent}. One sentence, then "
        f"where they apply {', '.join(SECTIONS)}"
    )


def test_a_docstring_begins_with_a_sentence_on_one_line() -> None:
    wrong = [
        where
        for where, node in definitions()
        if (text := _text(node)) and not re.search(r"[.:]$", text.splitlines()[0])
    ]
    assert not wrong, f"these docstrings do not begin with a sentence on a line of its own: {wrong}"


def test_what_comes_from_hudi_cites_its_class_and_release() -> None:
    uncited = [
        module.path
        for module in engine()
        if _is_from_hudi(module.name)
        and not module.is_package
        and module.name not in OUR_OWN
        and not re.search(r"Source: [^\n]*(\n[^\n]*){0,2}\b\d\.\d|Source: java\.util", module.text)
    ]
    assert not uncited, (
        f"these modules hold rules of Hudi's without saying where they were seen: {uncited}. Put "
        "'Source: <Hudi class>, Hudi <release>' in the docstring; a claim of compatibility must "
        "be one that somebody else can check"
    )


def test_the_list_of_what_comes_from_hudi_names_real_modules() -> None:
    names = {module.name for module in engine()}
    gone = sorted({*(f"pyhudi.{name}" for name in FROM_HUDI), *OUR_OWN} - names)
    assert not gone, f"FROM_HUDI or OUR_OWN names modules that do not exist: {gone}"


def _is_from_hudi(name: str) -> bool:
    ours = tuple(f"pyhudi.{entry}" for entry in FROM_HUDI)
    return name in ours or name.startswith(tuple(f"{entry}." for entry in ours))


def _is_public(module: Module, name: str, node: Definition) -> bool:
    parts = name.split(".")
    return not _functions_of(module, name) and not any(part.startswith("_") for part in parts)


def _functions_of(module: Module, name: str) -> bool:
    """Whether a definition lies inside a function, where only that function sees it."""
    owner = name.rpartition(".")[0]
    return any(
        found == owner and not isinstance(node, ast.ClassDef)
        for found, node in module.definitions()
    )


def _text(node: ast.Module | Definition) -> str:
    return (ast.get_docstring(node) or "").strip()
