"""One process that reads the table, again and again, and notes every row of every answer.

python -m tests.rivals.reader PLAN NUMBER
"""

from __future__ import annotations

import sys
import time
import traceback
from collections.abc import Mapping
from pathlib import Path

import pyhudi
from pyhudi.errors import ConflictError, MissingFileError, PlatformError
from tests.rivals.notes import Notes
from tests.rivals.plan import Plan

Found = list[tuple[str, str, int, str]]
"""Partition path, record key, ordering value and value of each row, sorted."""


def rows_read(uri: str, storage_options: Mapping[str, str], as_of: str | None = None) -> Found:
    """The rows of the table, those that are there twice twice."""
    columns = ["_hoodie_partition_path", "_hoodie_record_key", "ts", "value"]
    table = pyhudi.read_table(
        uri, columns=columns, as_of=as_of, storage_options=dict(storage_options) or None
    )
    return sorted(zip(*(table.column(name).to_pylist() for name in columns), strict=True))


def main() -> None:
    plan, number = Plan.load(Path(sys.argv[1])), int(sys.argv[2])
    notes = Notes(plan.notes(f"reader{number}"))
    notes.add("up")
    began = plan.began()
    while time.monotonic() - began < plan.seconds:
        since = time.time()
        try:
            found = rows_read(plan.uri, plan.storage_options)
        except (MissingFileError, ConflictError, PlatformError) as error:
            notes.add("unread", is_safe=False, since=since, said=repr(error))
        except Exception:  # noqa: BLE001 - the checker tells of it
            notes.add("failed", is_safe=False, since=since, said=traceback.format_exc())
        else:
            notes.add("read", is_safe=False, since=since, rows=found)
        time.sleep(0.5)
    notes.add("ended")


if __name__ == "__main__":
    main()
