"""What jobs advise, in the words of a DAG: ``source=`` where a command line has ``--source``."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from pyhudi.flags import flags_of
from pyhudi.jobs.clean import CleanRequest
from pyhudi.jobs.compaction import CompactionRequest
from pyhudi.jobs.upsert import UpsertRequest

_FLAG = re.compile(r"--([a-z][a-z-]*)( of spark-submit)?")
_OWN = {"--idempotency-key": "key=", "--verbose": "verbose=True"}
_OF_SPARK = {
    "--driver-memory": "driver_memory=",
    "--executor-memory": "executor_memory=",
    "--packages": "packages=",
}


def comma_list(value: str | Sequence[str] | None) -> str | None:
    """A list of columns or paths as one text."""
    return value if value is None or isinstance(value, str) else ",".join(value)


def mapped_name(base_path: str, detail: str | None) -> str:
    """What one of many mapped tasks is called: its table, and what of it this one does.

    Of paths the last two parts tell them apart.
    """
    table = base_path.rstrip("/").rpartition("/")[2]
    if not detail:
        return table
    return f"{table} · {'/'.join(detail.rstrip('/').split('/')[-2:])}"


def _arguments() -> Mapping[str, str]:
    flags = {
        **flags_of(UpsertRequest),
        **flags_of(CompactionRequest),
        **flags_of(CleanRequest),
    }
    named = {flag.name: f"{name}=" for name, flag in flags.items() if name != "result_path"}
    return named | _OWN | _OF_SPARK


_ARGUMENTS = _arguments()


def in_arguments(message: str) -> str:
    """The message with the operators' arguments where it has flags of the jobs or of spark-submit.

    Not: flags that no operator has an argument for; they stay.
    """
    return _FLAG.sub(lambda found: _ARGUMENTS.get(f"--{found[1]}", found[0]), message)
