"""The page that lists every option: ``python -m pyhudi.config.reference`` prints it.

Made from the declarations themselves, so that the page says what the code does.
"""

from __future__ import annotations

import ast
import inspect
import re
import sys
from collections.abc import Iterable, Iterator
from enum import Enum
from itertools import groupby, pairwise
from types import ModuleType
from typing import Any

from pyhudi.config.hudi_options import HudiOption, hudi_options
from pyhudi.config.known import MODULES
from pyhudi.config.option import Option
from pyhudi.errors import HudiError

_NONSENSE = ("\0", ",")
_ADVICE = re.compile(r"^.*; supported (?:are|is) ", re.DOTALL)

_HEAD = """\
# Options

Made by `python -m pyhudi.config.reference > docs/options.md`; not to be edited by hand.

Options have Hudi's own keys. Whoever writes gives them to `pyhudi.spark.write`, to the job with
`--hoodie-conf key=value` or `--props file`, or to the operator as `hoodie_conf`; for the commonest
the job has flags (`spark_jobs/upsert.py --help`). What an existing table knows of itself, such as
its record key, need not be said again, and must not be contradicted. A value that is not allowed is
an error that names the key.

*Since* is the first Hudi release that has the key, 0.14 for all that are as old as table version 6
or older; *pyhudi* is one of ours.

## Options that are honoured
"""

_OTHERS_HEAD = """\
## Options of Hudi that are not followed

All others that the write path of Hudi 0.15 and 1.1 knows, with Hudi's defaults. One that is
*ignored* has no effect here; all such in a request are named in one warning. One that is *refused*
is an error, because to ignore it would change the data or break a promise; its default, an empty
text and the values that are named are fine. *Refused by a read* is one that would give other rows;
of those that only writes refuse, and of options of writes, a read says that they have no effect.

A key that begins with `hoodie.` or `pyhudi.` and is on no list is an error that names the nearest
one; so is any key that is all but the name of an option, such as `as_of_instant`. Other keys are
other people's, Spark's for example, and nothing is said about them.
"""


def options_page() -> str:
    """The whole page, as Markdown."""
    chapters = (_chapter(title, declarations(module)) for module, title in MODULES.items())
    by_chapter = groupby(hudi_options(), key=lambda option: option.chapter)
    others = (_other_chapter(title, tuple(options)) for title, options in by_chapter)
    return "\n".join((_HEAD, *chapters, _OTHERS_HEAD, *others))


def declarations(module: ModuleType) -> Iterator[tuple[Option[Any], str]]:
    """The options that a module declares, in order, each with the text below its declaration."""
    for statement, below in pairwise(ast.parse(inspect.getsource(module)).body):
        match statement:
            case ast.Assign(targets=[ast.Name(id=name)]) | ast.AnnAssign(target=ast.Name(id=name)):
                if isinstance(option := getattr(module, name), Option):
                    yield option, _text_of(below)


def _text_of(statement: ast.stmt) -> str:
    match statement:
        case ast.Expr(value=ast.Constant(value=str(text))):
            return " ".join(text.split())
    return ""


def _chapter(title: str, options: Iterable[tuple[Option[Any], str]]) -> str:
    head = f"### {title}\n\n| key | default | allowed | since | meaning |\n|---|---|---|---|---|"
    return _table(head, (_option_row(option, meaning) for option, meaning in options))


def _option_row(option: Option[Any], meaning: str) -> str:
    aliases = f"; also `{'`, `'.join(option.aliases)}`" if option.aliases else ""
    default = _shown(option.default)
    return _row(f"`{option.key}`", default, _allowed(option), option.since, f"{meaning}{aliases}")


def _allowed(option: Option[Any]) -> str:
    """What the option's parser says when it refuses a text that means nothing."""
    for nonsense in _NONSENSE:
        try:
            option.parse(nonsense)
        except (ValueError, HudiError) as refusal:  # noqa: PERF203 - a page is made once
            return _ADVICE.sub("", str(refusal))
    return "text"


def _shown(value: object) -> str:
    if isinstance(value, Enum):
        return f"`{value.value}`"
    if isinstance(value, bool):
        return f"`{str(value).lower()}`"
    if isinstance(value, tuple) and value and isinstance(value[0], Enum):
        return f"`{','.join(each.value for each in value)}`"
    return "" if value is None or value in ("", ()) else f"`{value}`"


def _other_chapter(title: str, options: tuple[HudiOption, ...]) -> str:
    reason = f"Why to ignore is harmless here: {options[0].chapter_reason}."
    columns = "| key | default | what is done | meaning |\n|---|---|---|---|"
    head = f"### {title}\n\n{reason}\n\n{columns}"
    return _table(head, (_other_row(option) for option in options))


def _other_row(option: HudiOption) -> str:
    older = f"; also `{'`, `'.join(option.keys[1:])}`" if option.keys[1:] else ""
    default = f"`{option.default}`" if option.default else ""
    return _row(f"`{option.keys[0]}`", default, _treatment(option), f"{option.meaning}{older}")


def _treatment(option: HudiOption) -> str:
    by_reads = f"; {_refused('refused by a read', option.allowed_in_reads)}"
    if option.allowed_in_reads is None:
        by_reads = ""
    if option.allowed is not None:
        return _refused("refused", option.allowed) + by_reads
    reason = f": {option.reason}" if option.reason else ""
    quiet = f"; no warning at `{option.quiet}`" if option.quiet else ""
    return f"ignored{reason}{quiet}{by_reads}"


def _refused(word: str, values: Iterable[str] | None) -> str:
    allowed = ", ".join(f"`{value}`" for value in values or ())
    return f"{word} but for {allowed}" if allowed else word


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def _table(head: str, rows: Iterable[str]) -> str:
    return "\n".join((head, *rows, ""))


if __name__ == "__main__":
    sys.stdout.write(options_page())
