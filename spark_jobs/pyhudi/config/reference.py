"""The page that lists every option: ``python -m pyhudi.config.reference`` prints it.

Made from the declarations themselves, so that the page says what the code does.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from enum import Enum
from types import ModuleType
from typing import Any

from pyhudi.config import files, merging, read, write
from pyhudi.config.known import QUIET, REFUSED
from pyhudi.config.option import Option
from pyhudi.errors import HudiError

_CHAPTERS: tuple[tuple[str, ModuleType], ...] = (
    ("What to write", write),
    ("Which of two records wins", merging),
    ("Files, index and heartbeat", files),
    ("Reading", read),
)

_NONSENSE = ("\0", ",")
_ADVICE = re.compile(r"^.*; (?:supported are|write it as) ", re.DOTALL)

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
"""

_REFUSED_HEAD = """\
## Refused

To ignore these would change the data, so any value but the allowed ones is an error.

| key | allowed |
|---|---|"""

_IGNORED_HEAD = """\
## Ignored

Every other `hoodie.*` option has no effect here and is named in one warning per write. These are
not even warned about when they ask for what happens anyway. Keys that begin with neither `hoodie.`
nor `pyhudi.` are other people's; an unknown key that begins with `pyhudi.` is an error.

| key | value without a warning |
|---|---|"""


def options_page() -> str:
    """The whole page, as Markdown."""
    chapters = (_chapter(title, module) for title, module in _CHAPTERS)
    refused = (_row(f"`{key}`", _allowed_of(values)) for key, values in sorted(REFUSED.items()))
    ignored = (_row(f"`{key}`", f"`{value}`") for key, value in sorted(QUIET.items()))
    parts = (_HEAD, *chapters, _table(_REFUSED_HEAD, refused), _table(_IGNORED_HEAD, ignored))
    return "\n".join(parts)


def _chapter(title: str, module: ModuleType) -> str:
    head = f"## {title}\n\n| key | default | allowed | since | meaning |\n|---|---|---|---|---|"
    return _table(head, (_option_row(option) for option in _options_of(module)))


def _options_of(module: ModuleType) -> Iterator[Option[Any]]:
    return (value for value in vars(module).values() if isinstance(value, Option))


def _option_row(option: Option[Any]) -> str:
    aliases = f"; also `{'`, `'.join(option.aliases)}`" if option.aliases else ""
    meaning = f"{option.doc}{aliases}"
    return _row(f"`{option.key}`", _shown(option.default), _allowed(option), option.since, meaning)


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
    return "" if value is None or value in ("", ()) else f"`{value}`"


def _allowed_of(values: tuple[str, ...]) -> str:
    return ", ".join(f"`{value}`" for value in values) or "leave it out"


def _row(*cells: str) -> str:
    return f"| {' | '.join(cells)} |"


def _table(head: str, rows: Iterable[str]) -> str:
    return "\n".join((head, *rows, ""))


if __name__ == "__main__":
    sys.stdout.write(options_page())
