"""An option's key is written once, where it is declared."""

import ast
import re
from collections.abc import Callable
from operator import attrgetter

from pyhudi.config import known
from pyhudi.config.hudi_options import hudi_options
from pyhudi.config.option import declared
from pyhudi.config.reference import declarations
from pyhudi.errors import UnsupportedError
from tests.support.source_tree import classes, docstrings, engine, shipped

MOST_FIELDS = 20
KEY = re.compile(r"\bhoodie\.[a-z0-9_{}]+(?:\.[a-z0-9_]+)*")

ELSEWHERE = {
    ("pyhudi/table/properties_file.py", "hoodie.properties"): "the name of a file",
    ("pyhudi/cli/commands.py", "hoodie.properties"): "the name of a file",
    ("pyhudi/schema/avro.py", "hoodie.{}"): "the namespace of Avro records",
    ("pyhudi/basefile/footer.py", "hoodie.bloomfilter"): "a key of Parquet footers",
    ("pyhudi/transaction/optimistic/conditions.py", "hoodie.metadata.enable"): (
        "advice to the table's other writers"
    ),
    ("airflow_provider_pyhudi/intervals.py", "hoodie.record.merge.mode"): (
        "advice to the author of a DAG, where the engine is not imported"
    ),
    ("pyhudi/read/retention.py", "hoodie.clean.commits.retained"): "advice to the table's writer",
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
        f"these places name an option's key: {wrong}. A key is declared once in pyhudi/config and "
        "everything else says OPTION.key, so that its name, default and text cannot come apart"
    )
    assert not (stale := sorted(set(ELSEWHERE) - found)), f"ELSEWHERE lists what is gone: {stale}"


def test_a_key_is_written_once_in_the_configuration() -> None:
    written = [
        text
        for module in shipped()
        if module.where.startswith("pyhudi/config/")
        for text in _strings(module.tree)
        if KEY.fullmatch(text)
    ]
    assert not (twice := sorted({key for key in written if written.count(key) > 1})), (
        f"these keys are written out twice: {twice}. The option's declaration has the key; what a "
        "table's properties call it is a name beside it"
    )


def test_a_config_value_has_few_enough_fields_to_read() -> None:
    counts = {
        where: sum(isinstance(each, ast.AnnAssign) for each in node.body)
        for where, node in classes()
        if where.startswith("pyhudi/config/")
    }
    large = {where: count for where, count in counts.items() if count > MOST_FIELDS}
    assert not large, f"these config values have many fields: {large}. Group them by subject"


def test_a_key_is_declared_once() -> None:
    keys = [key for option in declared().values() for key in (option.key, *option.aliases)]
    twice = sorted({key for key in keys if keys.count(key) > 1})
    assert not twice, f"these keys belong to two options: {twice}"


def test_a_key_that_is_declared_is_not_listed_as_one_that_is_not_followed() -> None:
    keys = {key for option in declared().values() for key in (option.key, *option.aliases)}
    listed = [key for option in hudi_options() for key in option.keys]
    assert not (both := sorted(keys.intersection(listed))), (
        f"these keys are declared: {both}. Take their lines out of pyhudi/config/hudi/*.tsv"
    )
    twice = sorted({key for key in listed if listed.count(key) > 1})
    assert not twice, f"these keys are listed twice in pyhudi/config/hudi: {twice}"


def test_every_key_that_is_listed_as_refused_is_refused() -> None:
    for check, of in (
        (known.check_known, attrgetter("allowed")),
        (known.check_read, attrgetter("allowed_in_reads")),
    ):
        values = {key: of(each) for each in hudi_options() for key in each.keys}
        refused = {key: allowed for key, allowed in values.items() if allowed is not None}
        assert refused
        accepted = [key for key in refused if not _is_refused(check, key, "no value")]
        assert not accepted, f"docs/options.md calls these refused, and they are not: {accepted}"
        fine = [(key, value) for key, allowed in refused.items() for value in allowed]
        assert not (strict := [pair for pair in fine if _is_refused(check, *pair)]), (
            f"docs/options.md says that these are fine, and they are refused: {strict}"
        )


def test_a_line_about_an_option_says_what_it_means() -> None:
    wrong = [
        option.keys[0]
        for option in hudi_options()
        if not option.meaning or option.meaning.endswith(".") or not option.chapter_reason
    ]
    assert not wrong, f"these lines of pyhudi/config/hudi/*.tsv are no short phrase: {wrong}"


def test_an_option_says_what_it_does_in_a_line() -> None:
    pairs = [pair for module in known.MODULES for pair in declarations(module)]
    said = {option.key: text for option, text in pairs if text}
    assert not (silent := sorted(set(declared()) - set(said))), (
        f"no text stands below the declaration of these options, or known.MODULES lacks their "
        f"module: {silent}"
    )
    wrong = sorted(key for key, text in said.items() if text.endswith("."))
    assert not wrong, f"the text of these options is no short phrase without a full stop: {wrong}"


def test_every_option_is_read_somewhere() -> None:
    readers = "\n".join(module.text for module in engine())
    names = {
        name: value.key
        for module in known.MODULES
        for name, value in vars(module).items()
        if value in declared().values()
    }
    dead = sorted(
        key
        for name, key in names.items()
        if f"{name}.read(" not in readers and f"setting({name})" not in readers
    )
    assert not dead, f"these options are declared, documented and never read: {dead}"


def _is_refused(check: Callable[[dict[str, str]], object], key: str, value: str) -> bool:
    try:
        check({key: value})
    except UnsupportedError:
        return True
    return False


def _strings(tree: ast.Module) -> list[str]:
    """Every string but docstrings; what an f-string fills in reads ``{}``."""
    silent = docstrings(tree)
    joined = [node for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)]
    parts = {id(part) for node in joined for part in node.values}
    found = []
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            said = [str(p.value) if isinstance(p, ast.Constant) else "{}" for p in node.values]
            found.append("".join(said))
        elif isinstance(node, ast.Constant) and id(node) not in silent | parts:
            found.append(str(node.value))
    return found
