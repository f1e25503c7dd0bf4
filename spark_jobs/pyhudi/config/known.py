"""What is done about options that are not declared: refused, or named in one warning.

Which is done is in the files of the folder ``hudi``; an option that is declared leaves them.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from types import ModuleType

# Imported so that their options are declared.
from pyhudi.config import formats, read
from pyhudi.config.hudi_options import find_option
from pyhudi.config.option import canonical_key, declared
from pyhudi.config.options import (
    compaction,
    evolution,
    failures,
    files,
    index,
    keygen,
    logs,
    merging,
    operations,
    table,
)
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
    compaction: "Compaction",
    read: "Reading",
    logs: "Log files",
}
"""What declares options, by the chapters of their page, in order."""

_log = logging.getLogger(__name__)


def check_known(options: Mapping[str, str]) -> tuple[str, ...]:
    """Refuse options that would change the data if they were ignored; the ignored ones, sorted.

    Those of Hudi that are ignored are named in one warning. Keys that begin with neither
    ``hoodie.`` nor ``pyhudi.`` are other people's.

    Raises:
        OptionError: a key of our own that does not exist.
        UnsupportedError: an option whose value asks for what is not done here.
    """
    undeclared = [key for key in sorted(options) if canonical_key(key) not in declared()]
    for key in undeclared:
        if key.startswith("pyhudi."):
            ours = sorted(known for known in declared() if known.startswith("pyhudi."))
            raise OptionError(f"there is no option {key}; there is {', '.join(ours)}")
        _refuse(key, options[key].strip())
    ignored = tuple(key for key in undeclared if _is_ignored(key, options[key].strip()))
    if ignored:
        _log.warning("these options have no effect here: %s", ", ".join(ignored))
    return ignored


def _refuse(key: str, value: str) -> None:
    option = find_option(key)
    if option is None or not option.refuses(value):
        return
    advice = f"allowed: {' or '.join(option.allowed)}" if option.allowed else "leave it out"
    raise UnsupportedError(
        f"option {key} is {value!r}, which is not supported and would change the data; {advice}"
    )


def _is_ignored(key: str, value: str) -> bool:
    option = find_option(key)
    return key.startswith("hoodie.") if option is None else option.is_warned_about(value)
