"""What the tables of live tests hold: by our reader, and by real Hudi where it is there."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyhudi
from pyhudi.timeline.timeline import Timeline
from tests.interop.hudi import RealHudi


def timeline_of(table: Path) -> Timeline:
    """The timeline of a table as it is."""
    return pyhudi.open_table(str(table)).timeline


def commits_of(table: Path) -> list[dict[str, Any]]:
    """The extra metadata of the completed writes of a table, the oldest first."""
    found = []
    for instant in timeline_of(table).write_instants().completed().instants:
        (path,) = (table / ".hoodie").glob(f"{instant.time}.*commit")
        found.append(json.loads(path.read_text(encoding="utf-8"))["extraMetadata"])
    return found


def rows_of(table: Path, *columns: str) -> list[tuple[Any, ...]]:
    """Some columns of the rows of a table, sorted."""
    return sorted(
        tuple(row.values()) for row in pyhudi.read_table(str(table), columns=columns).to_pylist()
    )


def check_by_hudi(
    hudi: RealHudi,
    table: Path,
    columns: tuple[str, ...],
    *,
    is_swept: bool = True,
    exercise: bool = True,
    allow_duplicates: bool = False,
) -> None:
    """Hudi sees the same rows and as many completed writes, and finds nothing wrong.

    A table that is not swept was last written by one who died after the commit, and may have what
    the next writer deletes. ``exercise`` lets Hudi go on with a copy.
    """
    theirs = sorted(tuple(row[name] for name in columns) for row in hudi.read(table))
    assert theirs == rows_of(table, *columns)
    found = hudi.failures(table, exercise=exercise, allow_duplicates=allow_duplicates)
    assert [each for each in found if is_swept or not each.startswith("no trace")] == []
    assert commits_by_hudi(hudi, table) == len(commits_of(table))


def commits_by_hudi(hudi: RealHudi, table: Path) -> int:
    """How many completed writes Hudi sees on the active timeline."""
    actions = ("commit", "deltacommit", "replacecommit")
    return sum(
        each["action"] in actions and each["state"] == "COMPLETED" for each in hudi.timeline(table)
    )


def rows_and_keys_by_hudi(hudi: RealHudi, table: Path) -> tuple[int, int]:
    """How many rows Hudi reads, and how many different keys they have."""
    found = hudi.read_arrow(table)
    return found.num_rows, len(found["_hoodie_record_key"].unique())
