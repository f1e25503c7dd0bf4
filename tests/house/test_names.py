"""Names say what a thing is, and tests lie where the thing lies."""

import ast
import re
from pathlib import Path

from tests.support.source_tree import (
    ENGINE,
    ROOT,
    Definition,
    beside,
    classes,
    definitions,
    parse,
    shipped,
)

VAGUE = {
    "base",
    "common",
    "core",
    "helper",
    "helpers",
    "impl",
    "lib",
    "manager",
    "misc",
    "shared",
    "stuff",
    "tools",
    "util",
    "utils",
}
"""A vague name is a place where things collect."""

MIRRORED_ELSEWHERE = {
    "golden/test_golden.py": "the golden tables themselves",
    "read/test_later_versions.py": "merge properties of version 9, from files to rows",
    "golden/test_read_golden.py": "reads of the golden tables, over many modules",
    "golden/test_write_golden.py": "writes to golden tables, through the whole pipeline",
    "basefile/test_fetched_chunks.py": "reads of Parquet files whose parts cost a request each",
    "pipeline/test_requests.py": "the requests of a whole write to an object store",
    "pipeline/test_failed_records.py": "failed records from the source to where they are saved",
    "golden/test_partial_update.py": "merges of a golden table's files, over several modules",
}
"""Unit tests that belong to no module of the engine."""


def test_no_module_has_a_vague_name() -> None:
    vague = [
        module.path
        for module in (*shipped(), *beside())
        if VAGUE & {part for name in module.name.split(".") for part in name.split("_")}
    ]
    assert not vague, (
        f"these modules have names that say nothing: {vague}. Name the noun or the verb that "
        f"the module is about; none of {', '.join(sorted(VAGUE))}"
    )


def test_no_class_or_function_has_a_vague_name() -> None:
    vague = [
        where
        for where, node in definitions()
        if (VAGUE - {"base", "common", "shared"}) & set(_words(node))
    ]
    assert not vague, f"these names say nothing about what they name: {vague}"


def test_no_class_is_called_hoodie() -> None:
    hoodies = [where for where, node in classes() if "hoodie" in node.name.lower()]
    assert not hoodies, (
        f"these classes are called after Hudi's: {hoodies}. Hudi's word for the thing is enough; "
        "Hoodie stands only in what is written to disk"
    )


def test_a_unit_test_lies_where_its_module_lies() -> None:
    unit = ROOT / "tests" / "unit"
    lost = []
    for file in sorted(unit.rglob("test_*.py")):
        place = file.relative_to(unit)
        if place.as_posix() not in MIRRORED_ELSEWHERE and not _module_of(place).is_file():
            lost.append(place.as_posix())
    assert not lost, (
        f"these tests mirror no module: {lost}. tests/unit/<package>/test_<module>.py tests "
        "pyhudi/<package>/<module>.py, so that one is found from the other"
    )


def test_a_test_is_named_by_a_sentence() -> None:
    short = []
    for file in sorted((ROOT / "tests").rglob("test_*.py")):
        for node in ast.walk(parse(file)[1]):
            is_test = isinstance(node, ast.FunctionDef) and node.name.startswith("test_")
            if is_test and node.name.count("_") < 3:
                short.append(f"{file.relative_to(ROOT)}:{node.name}")
    assert not short, (
        f"these tests are named by a word: {short}. A test's name is a sentence about the table "
        "or the part: the suite read aloud is the specification"
    )


def test_a_test_that_needs_java_says_so() -> None:
    """By its marker, so that `make unit` leaves it out; those of tests/interop get theirs there."""
    silent = []
    for file in sorted((ROOT / "tests").rglob("test_*.py")):
        folder = file.relative_to(ROOT / "tests").parts[0]
        text, tree = parse(file)
        functions = (node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef))
        takes_session = any(each.arg == "spark" for node in functions for each in node.args.args)
        if folder == "spark" or (takes_session and folder != "interop"):
            silent += [] if "pytestmark = pytest.mark.spark\n" in text else [file.name]
    assert not silent, f"these need Java and lack pytestmark = pytest.mark.spark: {silent}"


def _words(node: Definition) -> list[str]:
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", node.name).lower().strip("_").split("_")


def _module_of(place: Path) -> Path:
    name = place.name.removeprefix("test_")
    if place.parts[0] in ("benchmarks", "scripts"):
        return ROOT / place.parts[0] / name
    return ENGINE / place.with_name(name)
