"""What is left of a table on which something died, and how it goes on."""

from __future__ import annotations

from pathlib import Path

from pyhudi.cli.validation.findings import Grade
from pyhudi.cli.validation.validate import Scope, validate_table
from pyhudi.jobs.compaction import COMPACTION_KIND, LOG_COMPACTION_KIND
from pyhudi.table.table import open_table
from tests.support.kill_cases import INLINE, NEXT, SERVICES, Before, Kill
from tests.support.orders import Row, clean, compact, rows_of, write
from tests.support.tree import signs_of_work


def check_goes_on(table: Path, kill: Kill, before: Before, seen: list[Row]) -> None:
    """The next write and clean succeed, and leave the right rows and nothing that is nobody's.

    ``seen`` is what a reader saw before them.
    """
    write(table, NEXT, "upsert", {**before.options, **SERVICES})
    # Whoever writes next finishes what takes writes back.
    ends = (seen, before.after) if kill.script in ("rollback.py", "restore.py") else (seen,)
    assert rows_of(table) in [before.then(each) for each in ends]
    rows = rows_of(table)
    if "compact" in kill.operation:
        kind = LOG_COMPACTION_KIND if kill.operation == "log compaction" else COMPACTION_KIND
        compact(table, INLINE, mode="execute", kind=kind)
    clean(table, SERVICES)
    assert rows_of(table) == rows
    assert left_by_nobody(table) == []
    assert list(open_table(table).timeline.pending()) == []


def left_by_nobody(table: Path) -> list[str]:
    """What lies in a table's folder and no commit accounts for, and what else is wrong with it."""
    scope = Scope(compares_keys=True, wants_unique=True)
    found = validate_table(open_table(table), scope, lambda _, __: None)
    wrong = (each for each in found.findings if each.grade is not Grade.NOTE)
    return [
        *(f"{each.what} {each.where}: {each.detail}" for each in wrong),
        *(str(path) for path in (*signs_of_work(table), *_hidden(table))),
    ]


def _hidden(table: Path) -> list[Path]:
    """Files of which only their maker knew."""
    known = (".hoodie_partition_metadata", ".commits_.archive.")
    return [
        path
        for path in table.rglob(".*")
        if path.is_file() and not path.name.startswith(known) and ".log." not in path.name
    ]
