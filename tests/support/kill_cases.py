"""What is killed while it runs: jobs on tables of orders, stage by stage."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from pyhudi.jobs.savepoint import SavepointRequest
from pyhudi.pipeline.undo.savepoint import savepoint_table
from tests.support.orders import DUE, HERE, LOGGED, OPTIONS, Row, many, tuples, write
from tests.support.traps import DRIVER, JVM, WORKER, Trap

NO_SERVICES: Final = {"hoodie.clean.automatic": "false", "hoodie.archive.automatic": "false"}
SERVICES: Final = {
    "hoodie.clean.commits.retained": "1",
    "hoodie.keep.min.commits": "2",
    "hoodie.keep.max.commits": "3",
}
INLINE: Final = {**DUE, "hoodie.compact.inline": "true"}
NEW: Final = many(range(4, 12), 90, "new")
UPDATES: Final = NEW.slice(0, 4)
NEXT: Final = many(range(2, 6), 99, "next")
_MANY: Final = 18
"""Partitions, of each of which a file goes."""
ATTEMPTS: Final = 4
"""Of a task, on the sessions of ``victims``."""

Stage = tuple[str, str, str]
"""What happens, and the call and path at which it does."""

_IN_WORKERS: Final = ("source", "open_input", "fill")
# Of one partition, so that all attempts are of one task.
_BASE: Final = r"^p0/.*\.parquet$"
_LOG_FILE: Final = r"^p0/\..*\.log\."


@dataclass(frozen=True, kw_only=True)
class Kill:
    """A job, a stage of it, and who is killed there how often."""

    operation: str
    script: str
    make: Callable[[Path], Before]
    stage: str
    trap: Trap

    @property
    def name(self) -> str:
        """The kill in one word."""
        often = "-always" if self.trap.times > 1 else ""
        text = f"{self.operation}-{self.stage}-{self.trap.victim}{often}"
        return text.replace(" ", "_").replace(",", "").lower()


@dataclass(frozen=True, kw_only=True)
class Before:
    """The rows before and after a job, and its flags, in which ``{folder}`` has the table.

    ``options`` are those of other writes of the table. A job that makes the table is asked for
    ``again`` where it has not.
    """

    flags: tuple[str, ...]
    before: list[Row]
    after: list[Row]
    options: Mapping[str, str]
    again: bool = False

    def arguments(self, folder: Path) -> list[str]:
        """The command line of the job, where its table was laid into a folder."""
        table = ["--base-path", str(folder / "table")]
        return [*table, *(each.format(folder=folder) for each in self.flags)]

    def then(self, rows: list[Row]) -> list[Row]:
        """The rows when the next write has followed upon these."""
        changed = {row[:2]: row for row in [*rows, *tuples(NEXT)]}
        return sorted(changed.values())


@dataclass(frozen=True, kw_only=True)
class Tables:
    """Tables that are made once for the jobs of an operation, in a folder."""

    folder: Path
    made: dict[str, Before] = field(default_factory=dict)

    def copy(self, kill: Kill, folder: Path) -> Before:
        """Lay what a job needs into a folder."""
        origin = self.folder / kill.script / kill.make.__name__
        if kill.operation not in self.made:
            origin.mkdir(parents=True)
            self.made[kill.operation] = kill.make(origin)
        shutil.copytree(origin, folder, dirs_exist_ok=True)
        return self.made[kill.operation]


def kills() -> list[Kill]:
    """All of them."""
    return [
        *_kills("upsert, clean, archive", "upsert.py", _copied, _WRITE + _INLINE),
        *_kills("upsert, compaction", "upsert.py", _logged, _LOG + _COMPACTION),
        *_kills("clean", "clean.py", _aged, _CLEAN),
        *_kills("archive", "archive.py", _archivable, _ARCHIVE),
        *_kills("compaction", "compaction.py", _compactable, _COMPACTION),
        *_kills("rollback", "rollback.py", _taken_back, _ROLLBACK),
        *_kills("rollback, log files", "rollback.py", _log_taken_back, _ROLLBACK_OF_LOGS),
        *_kills("restore", "restore.py", _saved, _RESTORE),
        *_kills("log compaction", "compaction.py", _log_compactable, _LOG_COMPACTION),
        *_kills("savepoint", "savepoint.py", _to_save, _SAVEPOINT),
        *_kills("rollback, many files", "rollback.py", _much_taken_back, _IN_TASKS),
        *_kills("restore, many files", "restore.py", _much_saved, _IN_TASKS),
        *_kills("bootstrap", "bootstrap.py", _dataset, _BOOTSTRAP),
    ]


_WRITE: Final[tuple[Stage, ...]] = (
    ("requested", "create", r"\.commit\.requested$"),
    ("rows are read", "source", ""),
    ("lookup", "open_input", _BASE),
    ("inflight", "create", r"\d\.inflight$"),
    ("data files", "fill", _BASE),
    ("commit", "create", r"\d\.commit$"),
    ("markers go", "delete_dir", r"\.temp/"),
)
_ARCHIVE: Final[tuple[Stage, ...]] = (
    ("archive is written", "create", r"/archived/"),
    ("archived instants go", "delete", r"\d\.commit$"),
)
_CLEAN: Final[tuple[Stage, ...]] = (
    ("clean is planned", "create", r"\.clean\.inflight$"),
    ("cleaned files go", "delete", _BASE),
    ("clean completes", "create", r"\.clean$"),
)
_INLINE: Final = _CLEAN + _ARCHIVE
_LOG: Final[tuple[Stage, ...]] = (
    ("log files", "fill", _LOG_FILE),
    ("delta commit", "create", r"\d\.deltacommit$"),
)
_COMPACTION: Final[tuple[Stage, ...]] = (
    ("compaction is planned", "create", r"\.compaction\.inflight$"),
    ("compacted files", "fill", _BASE),
    ("compaction commits", "create", r"\d\.commit$"),
)
_ROLLBACK: Final[tuple[Stage, ...]] = (
    ("rollback is planned", "create", r"\.rollback\.requested$"),
    ("files go", "delete", _BASE),
    ("rollback completes", "create", r"\.rollback$"),
)
_LOG_COMPACTION: Final[tuple[Stage, ...]] = (
    ("log compaction is planned", "create", r"\.logcompaction\.requested$"),
    ("compacted log files", "fill", _LOG_FILE),
    ("log compaction commits", "create", r"\d\.deltacommit$"),
)
_SAVEPOINT: Final[tuple[Stage, ...]] = (
    ("savepoint completes", "create", r"\.savepoint$"),
    ("savepoint is noted", "create", r"\.savepoint\.inflight$"),
)
_IN_TASKS: Final[tuple[Stage, ...]] = (("files go in tasks", "delete", _BASE),)
_ROLLBACK_OF_LOGS: Final[tuple[Stage, ...]] = (("log blocks are taken back", "put", _LOG_FILE),)
_RESTORE: Final[tuple[Stage, ...]] = (
    ("restore is planned", "create", r"\.restore\.requested$"),
    ("files go", "delete", _BASE),
    ("restore completes", "create", r"\.restore$"),
)

_BOOTSTRAP: Final[tuple[Stage, ...]] = (
    ("bootstrap is requested", "create", r"\.commit\.requested$"),
    ("skeletons", "fill", r"^part=p0/.*\.parquet$"),
    ("rows are written", "fill", r"^part=p1/.*\.parquet$"),
    ("index is written", "put", r"\.bootstrap/"),
    ("skeletons commit", "create", r"1\.commit$"),
    ("rows commit", "create", r"2\.commit$"),
)


def _kills(
    operation: str, script: str, make: Callable[[Path], Before], stages: Sequence[Stage]
) -> Iterator[Kill]:
    for stage, call, path in stages:
        deletes_in_tasks = script == "clean.py" or stages is _IN_TASKS
        is_in_worker = call in _IN_WORKERS or (deletes_in_tasks and call == "delete")
        for victim, times in ((DRIVER, 1), (JVM, 1), (WORKER, 1), (WORKER, ATTEMPTS)):
            if victim != WORKER or is_in_worker:
                trap = Trap(victim=victim, call=call, path=path, times=times)
                yield Kill(operation=operation, script=script, make=make, stage=stage, trap=trap)


def _copied(folder: Path) -> Before:
    old = _written(folder, 5, {**OPTIONS, **NO_SERVICES})
    return _upserting(folder, old, NEW, OPTIONS, SERVICES)


def _logged(folder: Path) -> Before:
    """A table whose incoming rows are all updates: a compaction alone writes base files."""
    old = _written(folder, 2, {**LOGGED, **NO_SERVICES})
    return _upserting(folder, old, UPDATES, LOGGED, {**NO_SERVICES, **INLINE})


def _aged(folder: Path) -> Before:
    """A table of so many old files that tasks delete them."""
    old = _written(folder, 4, {**OPTIONS, **NO_SERVICES}, parts=9)
    return _serving(old, old, OPTIONS, SERVICES)


def _archivable(folder: Path) -> Before:
    old = _written(folder, 5, {**OPTIONS, **NO_SERVICES})
    return _serving(old, old, OPTIONS, SERVICES)


def _compactable(folder: Path) -> Before:
    old = _written(folder, 3, {**LOGGED, **NO_SERVICES})
    return _serving(old, old, LOGGED, DUE)


def _taken_back(folder: Path) -> Before:
    old = _written(folder, 2, {**OPTIONS, **NO_SERVICES})
    done = write(folder / "table", NEW, "upsert", {**OPTIONS, **NO_SERVICES})
    return _serving(_with(NEW, old), old, OPTIONS, {}, f"--instant={done.instant}")


def _log_taken_back(folder: Path) -> Before:
    old = _written(folder, 2, {**LOGGED, **NO_SERVICES})
    done = write(folder / "table", UPDATES, "upsert", {**LOGGED, **NO_SERVICES})
    return _serving(_with(UPDATES, old), old, LOGGED, {}, f"--instant={done.instant}")


def _saved(folder: Path) -> Before:
    """A table with writes after a savepoint."""
    table = folder / "table"
    old = _written(folder, 2, {**OPTIONS, **NO_SERVICES})
    asked = SavepointRequest(base_path=str(table), user="me", comment="before the others")
    saved = savepoint_table(HERE, asked).instant
    for rows in (NEW.slice(0, 2), NEW):
        write(table, rows, "upsert", {**OPTIONS, **NO_SERVICES})
    return _serving(_with(NEW, old), old, OPTIONS, {}, f"--instant={saved}")


def _log_compactable(folder: Path) -> Before:
    old = _written(folder, 4, {**LOGGED, **NO_SERVICES})
    due = {"hoodie.log.compaction.blocks.threshold": "2"}
    return _serving(old, old, LOGGED, due, "--kind=log_compaction")


def _to_save(folder: Path) -> Before:
    old = _written(folder, 2, {**OPTIONS, **NO_SERVICES})
    return _serving(old, old, OPTIONS, {}, "--user=me", "--comment=kept")


def _much_taken_back(folder: Path) -> Before:
    """A table of which the latest write made so many files that tasks delete them."""
    old = _written(folder, 1, {**OPTIONS, **NO_SERVICES}, parts=_MANY)
    instant = _rewritten(folder)
    new = many(range(_MANY * 4), 9, "new", _MANY)
    return _serving(new, old, OPTIONS, {}, f"--instant={instant}")


def _much_saved(folder: Path) -> Before:
    old = _written(folder, 1, {**OPTIONS, **NO_SERVICES}, parts=_MANY)
    asked = SavepointRequest(base_path=str(folder / "table"), user="me", comment="many files")
    saved = savepoint_table(HERE, asked).instant
    _rewritten(folder)
    new = many(range(_MANY * 4), 9, "new", _MANY)
    return _serving(new, old, OPTIONS, {}, f"--instant={saved}")


def _rewritten(folder: Path) -> str:
    """Write every row of a table of many partitions anew; the instant."""
    rows = many(range(_MANY * 4), 9, "new", _MANY)
    done = write(folder / "table", rows, "upsert", {**OPTIONS, **NO_SERVICES})
    return str(done.instant)


def _dataset(folder: Path) -> Before:
    """A dataset of two partitions, one taken over by metadata alone and one with its rows."""
    rows = many(range(8), 0, "old")
    pq.write_to_dataset(rows, folder / "source", partition_cols=["part"])
    options = {**OPTIONS, "hoodie.datasource.write.hive_style_partitioning": "true"}
    flags = ("--source={folder}/source", "--selector=regex", "--regex=part=p0")
    flags += ("--regex-mode=METADATA_ONLY", *_conf({**options, **NO_SERVICES}))
    return Before(flags=flags, before=[], after=tuples(rows), options=options, again=True)


def _written(folder: Path, times: int, options: Mapping[str, str], parts: int = 2) -> pa.Table:
    """Write the table so often; the rows."""
    rows = many([], 0, "")
    for number in range(times):
        rows = many(range(parts * 4), number, f"old {number}", parts)
        write(folder / "table", rows, "upsert", options)
    return rows


def _with(rows: pa.Table, old: pa.Table) -> pa.Table:
    return pa.concat_tables([old.slice(0, 4), rows])


def _upserting(
    folder: Path,
    old: pa.Table,
    rows: pa.Table,
    options: Mapping[str, str],
    more: Mapping[str, str],
) -> Before:
    pq.write_table(rows, folder / "source.parquet")
    flags = ("--source={folder}/source.parquet", "--operation=upsert", *_conf({**options, **more}))
    after = tuples(_with(rows, old))
    return Before(flags=flags, before=tuples(old), after=after, options=options)


def _serving(
    old: pa.Table,
    new: pa.Table,
    options: Mapping[str, str],
    more: Mapping[str, str],
    *flags: str,
) -> Before:
    return Before(
        flags=(*flags, *_conf(more)), before=tuples(old), after=tuples(new), options=options
    )


def _conf(options: Mapping[str, str]) -> list[str]:
    return [f"--hoodie-conf={name}={value}" for name, value in options.items()]
