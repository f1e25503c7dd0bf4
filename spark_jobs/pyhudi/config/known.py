"""What is done about options that are not followed: refused, or named in one warning.

Which is done with Hudi's is in the files of the folder ``hudi``; an option that is declared leaves
them. One that is in neither is misspelt.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Iterable, Mapping
from difflib import get_close_matches
from functools import cache
from types import ModuleType

# Imported so that their options are declared.
from pyhudi.config import formats, read
from pyhudi.config.hudi_options import HudiOption, find_option, hudi_options
from pyhudi.config.option import canonical_key, declared
from pyhudi.config.options import (
    archive,
    bootstrap,
    clean,
    compaction,
    concurrency,
    evolution,
    failures,
    files,
    index,
    keygen,
    locks,
    logs,
    merging,
    operations,
    services,
    table,
)
from pyhudi.config.options.table import COMMIT_METADATA_PREFIX
from pyhudi.errors import OptionError, UnsupportedError

MODULES: Mapping[ModuleType, str] = {
    table: "The table and the rows",
    operations: "Operations",
    keygen: "Key generators",
    merging: "Which of two records wins",
    evolution: "Changes of the schema",
    index: "How stored keys are found",
    files: "Files, heartbeat and waiting",
    formats: "Formats of base files",
    failures: "Rows that cannot be written",
    concurrency: "Several writers at once",
    locks: "Locks",
    services: "Services after a write",
    clean: "Cleaning",
    archive: "Archiving",
    bootstrap: "Bootstrap",
    compaction: "Compaction",
    read: "Reading",
    logs: "Log files",
}
"""What declares options, by the chapters of their page, in order."""

_OURS = ("hoodie.", "pyhudi.")
_RELEASES = "0.15 to 1.1"
_LIKE_HUDIS = 0.75
_LIKE_OURS = 0.9
"""How much a key must be like a known one to be that one misspelt, by whose key it begins as."""

_ELSEWHERE: Mapping[str, str] = {
    "as.of": read.AS_OF.key,
    "as.of.timestamp": read.AS_OF.key,
    "timestamp.as.of": read.AS_OF.key,
    "version.as.of": read.AS_OF.key,
    "query.type": read.QUERY_TYPE.key,
    "begin": read.BEGIN.key,
    "begin.instanttime": read.BEGIN.key,
    "end": read.END.key,
    "end.instanttime": read.END.key,
}
"""What other interfaces call options of a read: ``read_table``'s arguments, other table formats."""

_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_SEPARATORS = re.compile(r"[\s._-]+")

_log = logging.getLogger(__name__)


def check_known(options: Mapping[str, str]) -> tuple[str, ...]:
    """Refuse what ``refuse_unknown`` does; the options that are ignored, sorted.

    Those of Hudi that are ignored are named in one warning.

    Raises:
        OptionError: a key that does not exist.
        UnsupportedError: an option whose value asks for what is not done here.
    """
    refuse_unknown(options)
    ignored = tuple(key for key in _undeclared(options) if _is_ignored(key, options[key].strip()))
    if ignored:
        _log.warning("these options have no effect here: %s", ", ".join(ignored))
    return ignored


def refuse_unknown(options: Mapping[str, str]) -> None:
    """Refuse options of a write that do not exist, or that would change the data if ignored.

    Keys that begin with neither ``hoodie.`` nor ``pyhudi.`` are other people's, unless they are
    all but the name of an option. Those that go into the commit's extra metadata may be any.

    Raises:
        OptionError: a key that does not exist, with the nearest that does.
        UnsupportedError: an option whose value asks for what is not done here.
    """
    prefix = COMMIT_METADATA_PREFIX.read(options)
    for key in _undeclared(options):
        if not (prefix and key.startswith(prefix)):
            _refuse_nameless(key)
        _refuse_value(key, options[key].strip(), lambda option: option.allowed)


def check_read(options: Mapping[str, str]) -> tuple[str, ...]:
    """As ``check_known`` for the options of a read; the ignored ones, sorted.

    Options of writes are among the ignored: one set of options may serve a write and a read.

    Raises:
        OptionError: a key that does not exist, with the nearest that does.
        UnsupportedError: an option whose value asks for other rows than are given.
    """
    followed = {key for option in read.OPTIONS for key in (option.key, *option.aliases)}
    for key in _undeclared(options):
        if _plain_form(key) in _ELSEWHERE:
            raise OptionError(f"a read has no option {key}; write {_ELSEWHERE[_plain_form(key)]}")
        _refuse_nameless(key)
        _refuse_value(key, options[key].strip(), lambda option: option.allowed_in_reads)
    named = (key for key in sorted(options) if key.startswith(_OURS) and key not in followed)
    ignored = tuple(key for key in named if _is_worth_a_word(key, options[key].strip()))
    if ignored:
        _log.warning("these options have no effect on a read: %s", ", ".join(ignored))
    return ignored


def _undeclared(options: Mapping[str, str]) -> list[str]:
    return [key for key in sorted(options) if canonical_key(key) not in declared()]


def _refuse_nameless(key: str) -> None:
    """Refuse a key that no option has."""
    if find_option(key) is not None:
        return
    if key.startswith("pyhudi."):
        ours = sorted(known for known in declared() if known.startswith("pyhudi."))
        meant = _nearest(key, ours, likeness=_LIKE_HUDIS)
        advice = f"did you mean {meant}?" if meant else f"there is {', '.join(ours)}"
        raise OptionError(f"there is no option {key}; {advice}")
    is_hudis = key.lower().startswith("hoodie.")
    meant = _nearest(key, _all_keys(), likeness=_LIKE_HUDIS if is_hudis else _LIKE_OURS)
    if meant:
        raise OptionError(f"there is no option {key}; did you mean {meant}?")
    if is_hudis:
        raise OptionError(
            f"there is no option {key} in Hudi {_RELEASES}, nor one with a name like it; "
            "leave it out"
        )


def _refuse_value(
    key: str, value: str, allowed_of: Callable[[HudiOption], tuple[str, ...] | None]
) -> None:
    """Refuse a value that asks for what is not done; an empty one asks for nothing."""
    option = find_option(key)
    allowed = None if option is None else allowed_of(option)
    if allowed is None or not value or value.lower() in allowed:
        return
    advice = f"allowed: {' or '.join(allowed)}" if allowed else "leave it out"
    raise UnsupportedError(
        f"option {key} is {value!r}, which is not supported and would change the data; {advice}"
    )


def _is_ignored(key: str, value: str) -> bool:
    option = find_option(key)
    return option is not None and option.allowed is None and value.lower() != option.quiet


def _is_worth_a_word(key: str, value: str) -> bool:
    """Whether a read that passes over an option says so: not where it is done so anyway."""
    option = find_option(key)
    if option is None or not value:
        return bool(value)
    asked = {option.quiet, *(option.allowed or ()), *(option.allowed_in_reads or ())}
    return value.lower() not in asked


def _nearest(name: str, known: Iterable[str], *, likeness: float) -> str | None:
    """The known name that is most like this one; None when none is like it enough."""
    by_form = {_plain_form(each): each for each in known}
    found = get_close_matches(_plain_form(name), by_form, n=1, cutoff=likeness)
    return by_form[found[0]] if found else None


def _plain_form(name: str) -> str:
    """In small letters, the words separated by dots: ``asOfInstant`` is ``as.of.instant``."""
    return _SEPARATORS.sub(".", _CAMEL.sub(".", name.strip())).lower()


@cache
def _all_keys() -> tuple[str, ...]:
    ours = (key for option in declared().values() for key in (option.key, *option.aliases))
    hudis = (key for option in hudi_options() for key in option.keys if not key.endswith("*"))
    return (*ours, *hudis)
