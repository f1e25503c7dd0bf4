"""An option's key is written once, where it is declared."""

from __future__ import annotations

import ast
import re

from pyhudi.config import known
from pyhudi.config.option import declared
from tests.support.source_tree import ROOT, docstrings, shipped

KEY = re.compile(r"\bhoodie\.[a-z0-9_{}]+(?:\.[a-z0-9_]+)*")

ELSEWHERE = {
    ("pyhudi/table/properties_file.py", "hoodie.properties"): "the name of a file",
    ("pyhudi/schema/avro.py", "hoodie.{}"): "the namespace of Avro records",
    ("pyhudi/basefile/footer.py", "hoodie.bloomfilter"): "a key of Parquet footers",
    (
        "pyhudi/read/query.py",
        "hoodie.populate.meta.fields",
    ): "names a property of the table in an error",
    (
        "pyhudi/read/retention.py",
        "hoodie.clean.commits.retained",
    ): "advice about an option of the table's writer",
}
"""Where ``hoodie.`` stands outside ``pyhudi/config/``, and why it is no option of ours there."""


def test_a_key_is_mentioned_only_where_it_is_declared() -> None:
    found = {
        (module.where, key)
        for module in shipped()
        if not module.where.startswith("pyhudi/config/")
        for text in _strings(module.tree)
        for key in KEY.findall(text)
    }
    assert not (wrong := sorted(found - set(ELSEWHERE))), (
        f"these places spell an option's key: {wrong}. A key is declared once in pyhudi/config and "
        "everything else says OPTION.key, so that its name, default and doc cannot come apart"
    )
    assert not (stale := sorted(set(ELSEWHERE) - found)), f"ELSEWHERE lists what is gone: {stale}"


def test_a_key_is_declared_once() -> None:
    keys = [key for option in declared().values() for key in (option.key, *option.aliases)]
    twice = sorted({key for key in keys if keys.count(key) > 1})
    assert not twice, f"these keys belong to two options: {twice}"
    both = sorted(set(keys) & set(known.REFUSED))
    assert not both, f"these keys are declared and in the list of the refused ones: {both}"


def test_an_option_says_what_it_does_in_a_line() -> None:
    wrong = [
        option.key
        for option in declared().values()
        if not option.doc or option.doc[0].isspace() or option.doc.endswith(".")
    ]
    assert not wrong, f"the doc of these options is no short phrase without a full stop: {wrong}"


def test_every_option_is_read_somewhere() -> None:
    readers = "\n".join(
        path.read_text(encoding="utf-8")
        for path in sorted((ROOT / "spark_jobs" / "pyhudi").rglob("*.py"))
    )
    names = {
        name: value.key
        for module in known.MODULES
        for name, value in vars(module).items()
        if value in declared().values()
    }
    dead = sorted(key for name, key in names.items() if f"{name}.read(" not in readers)
    assert not dead, f"these options are declared, documented and never read: {dead}"


def _strings(tree: ast.Module) -> list[str]:
    """Every string but docstrings; what an f-string fills in reads ``{}``."""
    silent = docstrings(tree)
    joined = [node for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)]
    parts = {id(part) for node in joined for part in node.values}
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            found.append(
                "".join(
                    str(part.value) if isinstance(part, ast.Constant) else "{}"
                    for part in node.values
                )
            )
        elif isinstance(node, ast.Constant) and id(node) not in silent | parts:
            found.append(str(node.value))
    return found
