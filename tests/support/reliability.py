"""The page of what is stopped, damaged and made up, and of what came of it."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final, TypeAlias

from tests.simulator.anomalies import ANOMALIES
from tests.support.bootstrap_courses import BOOTSTRAPS, BootstrapCase, cases_on_skeletons
from tests.support.crash_cases import Case, cases
from tests.support.crashes import Course, World, course_of
from tests.support.damaging import Damaged, damages_of, tables
from tests.support.kill_cases import kills
from tests.support.source_tree import ROOT
from tests.support.traps import DRIVER, JVM, WORKER
from tests.support.undo_cases import UNDOING, UndoCase

Stopped: TypeAlias = Case | UndoCase | BootstrapCase
"""What is stopped at each of its storage calls."""

PAGE: Final = ROOT / "docs" / "reliability.md"
REWRITE: Final = "make reliability"

_HEAD: Final = """\
# Reliability

What the tests stop, damage and make up, and what holds. `make reliability` tries all of it and
writes this page; `make test` tries a sample.

## What is promised, and which test holds it

The paths are those below `tests/`.

| Promise | Test |
|---|---|
"""
PROMISES: Final[Mapping[str, tuple[str, ...]]] = {
    "a write or service that dies or fails at any storage call is done or undone, whole": (
        *("test_crash_in_write", "test_crash_in_restore", "test_crash_in_compaction"),
        *("test_crash_in_bootstrap", "test_crash_on_bootstrapped", "test_crash_in_later_versions"),
    ),
    "a recovery that dies is gone on with by the next": ("test_crash_in_recovery",),
    "an archiver that dies loses no instant and archives none twice": ("test_crash_in_archive",),
    "a clean that dies or is late deletes nothing that somebody needs, and is finished": (
        "test_clean",
    ),
    "readers of any retained instant find every file, between any two calls of a service": (
        *("test_readers_meanwhile", "test_clean", "test_crash_in_restore"),
    ),
    "writers one at a time: of those that begin at once one goes on, and nobody loses a row": (
        *("test_rival_writers", "test_late_writers", "test_rivals_in_later_versions"),
    ),
    "writers beside each other: each lands whole on top of the other, or is told whom it met": (
        *("test_optimistic_writers", "test_optimistic_protocol", "test_conflict_costs"),
        *("test_optimistic_in_later_versions", "test_completion_order"),
    ),
    "services beside writers, readers, savepoints and each other, in every order": (
        *("test_rival_services", "test_rival_restores", "test_crash_in_archive"),
    ),
    "a storage that gives no answer, or half of a listing, costs no row and no folder": (
        *("test_slow_storage", "test_on_object_store"),
    ),
    "a task that runs twice, or goes on after its write, leaves no second file": (
        *("test_task_attempts", "test_cluster"),
    ),
    "metadata that is torn, lost or foreign is read as Hudi reads it, or refused by name": (
        "test_torn_metadata",
    ),
    "damage to what was committed is told by name, also where its write is archived": (
        *("test_damaged_tables", "test_damaged_logs"),
    ),
    "bytes of any file end with an error that names it, soon and in little memory; no name in "
    "metadata leads out of the table": ("test_hostile_bytes",),
    "real processes: driver, JVM and workers killed, a full disk, writers at once": (
        *("test_killed_processes", "test_killed_job", "test_full_disk", "test_cluster"),
        *("test_rival_processes",),
    ),
}
"""What is promised, with the modules of ``tests/faults`` that hold it."""
_CRASHES: Final = """\

## Stopped at any storage call

Every write and service below was stopped at each of its storage calls, by the functions
that production runs, with tasks in one process and the table in memory. A death ends the process
before a call. An error lets a call fail, at once or after it has done its work, or lets it and all
later ones that need space fail. At each point:

- a reader sees the rows of before or those of after, whole; after an error that was raised, those
  of before, unless a rollback or restore had begun to take effect;
- what is raised is an error of the engine or of the operating system;
- after the next write, and the next run of a plan, no data file, marker, heartbeat, pending instant
  or saved record is left that no commit accounts for, and the rows are right.

Deaths that leave the same files are looked at once. A late error of a call that changes nothing is
the same as an error, and is not counted again (`tests/faults/test_crash_in_write.py`,
`tests/faults/test_crash_in_restore.py`). Bootstraps make a table of nine rows, some of them or all
in files that stay where they are; bootstrapped rows are such, and no stop changes those files
(`tests/faults/test_crash_in_bootstrap.py`, `tests/faults/test_crash_on_bootstrapped.py`).

| Operation | Table type | Index | Storage calls | Deaths | Different states | Errors |
|---|---|---|---:|---:|---:|---:|
"""
_DAMAGES: Final = """\
## Damage to what was committed

Of each table below every file that readers need was damaged, one at a time: lost, cut short at six
places, and of log files also each block lost and each byte flipped that says where a block lies, of
which kind it is and of which write, two bits each. A read raises an error that names the file; none
gave other rows (`tests/faults/test_damaged_tables.py`). Only tables of which the active timeline
tells all files are listed. Of a log file that an archived commit wrote, bytes that make no block
are told by what the archive says of it, for which it is asked only then; a file of archived commits
that is gone, or a log file that ends between two blocks, is not missed.

Not told: changed values within Avro records, for which the format has no checksum, and within base
files, as far as Parquet and ORC do not notice.

| Table | Files | Damages | Told by name |
|---|---:|---:|---:|
"""
_BYTES: Final = """\
## Bytes that are made up

Each file that a reader opens was given bytes that Hypothesis made up of sound ones: bits flipped,
bytes lost, doubled and put in, lengths of two GiB. In a process with no room for those, each
example ended at once, with an error of the engine that names the file, or with what such a file
gives; what it took at most was a few MiB and, for each byte of the file, as much as deflate makes
of one (`tests/faults/test_hostile_bytes.py`; `make fuzz` tries more).

| Bytes of | Examples |
|---|---:|
"""
_SIMULATED_TITLE: Final = "## Histories of several processes"
_SIMULATED: Final = f"""\
{_SIMULATED_TITLE}

Two to four processes work on one table in a storage in memory: writes of every operation, cleans,
compactions, log compactions, rollbacks, archivers, savepoints and readers, on tables of either
type and of versions 6, 8 and 9, writers one at a time or beside each other under each of the three
locks. A seed draws what
they do, whose storage call comes next, who is suspended past its heartbeat or its lease, who dies
before or after a call, whose clock is wrong or jumps, which call fails and which answer is lost.
`make test` plays 10,000 such histories, `make simulate` a million (`tests/simulator/`). In each:

- whenever a write is completed or taken back the table has the rows that the completed writes
  leave, one after another; at the end also as of every instant that can still be read, and a
  reader whose calls are mixed with others' sees the rows of one moment;
- what was acknowledged is there, what was refused is not, a key is there once;
- in versions 8 and 9 no write appears after one with a later completion time;
- after the next write and clean no file, marker, heartbeat or pending instant is left that no
  commit accounts for; an instant that left the timeline is in the archive, once; a savepoint has
  its files.

Production's own functions run: requests, recovery, instants, exclusions, locks, rollbacks,
cleans, plans, archives, views of files. **Simulated by stand-ins** are the data files, rows as
JSON behind the names, markers, block headers and statistics of real ones, with a lookup and a
merge of their own; a share of the histories is played with the whole pipeline and real Parquet
files (`tests/simulator/test_whole.py`). **Not simulated**: restores, clusterings, key moves of
global indexes, the BUCKET index, ordering values, early conflict detection, tasks that run twice,
storages that break what `storage/storage.py` promises but for a listing that is behind, and of
neighbours only a writer that undoes whatever is pending and one that deletes the holder's lock.

Where no lock is taken, a writer that is suspended between its last look and its commit, for
longer than its heartbeat lasts, is seen for a moment after it has been rolled back: it takes
itself back with its next call. So does one that is suspended between confirming its lock and the
commit, for longer than its lease lasts. Where writers also leave dead ones alone
(`hoodie.clean.failed.writes.policy=LAZY` in single-writer mode) nothing keeps such a one from
hiding what came after it. Such histories are counted and not judged.

Each anomaly below is reached by a schedule that is written down (`tests/simulator/anomalies.py`):
with its guard it is kept out, and with the guard replaced by nothing the simulator finds it. So do
histories that only a seed draws, within the 3,000 that one core plays in a minute
(`tests/simulator/test_guards.py`): a third of them are scenes, in which who meets whom is given.

| Anomaly | What keeps it out |
|---|---|
"""
_KILLED_TITLE: Final = "## Real processes killed"
_KILLED: Final = f"""\
{_KILLED_TITLE}

The job scripts below were run on Spark, and one of their processes was killed by SIGKILL in the
midst of each stage: the driver's Python, its JVM, or a Python worker, once and in each of its four
attempts. After each kill:

- a reader sees the rows of before or those of after; a job that says that it succeeded has, and one
  that fails ends with one line that says what was killed;
- of a worker that is killed once nothing is noticed but the time; where it is killed always the
  table is as before, but for a compaction after a write, which stays committed;
- after the next write and clean the rows are right, each file of the table is a commit's, and no
  marker, heartbeat, pending instant or half-made file is left.

Killed at the same stage on a cluster, an executor is replaced, and of two attempts of a slow task
(`spark.speculation`) one leaves files (`tests/faults/test_cluster.py`). On a disk that is full at
any of these files the job fails and says which; with space again the next one succeeds
(`tests/faults/test_full_disk.py`). Hudi 0.15.0 and 1.1.1 read and continue the tables of a share of
the kills (`tests/interop/test_killed_processes.py`). `make test` kills a share
(`tests/faults/test_killed_processes.py`).

| Job | Stage | Driver | JVM | Python worker |
|---|---|---:|---:|---:|
"""


def write_page(*, courses: int, points: int, damages: int, examples: Mapping[str, int]) -> None:
    """Write the page, when the points and damages tried are all that there are."""
    if not (points and damages and examples):
        return
    found = list(all_courses())
    totals = _sums(_numbers(course) for _, course in found)
    damaged = {name: damages_of(make()) for name, make in tables().items()}
    if (courses, points) != (len(found), totals[0] + totals[-1]):
        return
    if damages != sum(map(len, damaged.values())):
        return
    killed = _killed_section()
    parts = [
        *head(),
        _CRASHES,
        *(row_of(case, course) for case, course in found),
        _row("all", "", "", *totals),
        "\n",
        _DAMAGES,
        *(damage_row(name, every) for name, every in damaged.items()),
        _row("all", *_sums(_damage_numbers(every) for every in damaged.values())),
        "\n",
        _BYTES,
        *(_row(name, count) for name, count in sorted(examples.items())),
        _row("all", sum(examples.values())),
        "\n",
        section_of_histories(),
        *(("\n", killed) if killed else ()),
    ]
    PAGE.write_text("".join(parts), encoding="utf-8")


def all_cases(folder: Path = Path()) -> Iterator[Stopped]:
    """All that is stopped, in the order of the page; rows outside a table lie below the folder."""
    yield from cases()
    yield from UNDOING
    yield from BOOTSTRAPS
    yield from cases_on_skeletons(folder)


def all_courses() -> Iterator[tuple[Stopped, Course]]:
    """Each of them with its undisturbed course."""
    with TemporaryDirectory(prefix="pyhudi-sources-") as folder:
        for case in all_cases(Path(folder)):
            if isinstance(case, UndoCase):
                undoing = case.make()
                yield case, course_of(World(table=undoing.storage), undoing.do)
            else:
                yield case, course_of(case.prepare(), case.act)


def write_kills(told: Collection[str]) -> None:
    """Write the section of killed processes, when all that are to be killed were."""
    if {kill.name for kill in kills()} != set(told):
        return
    # Other sections may follow.
    page, before = PAGE.read_text(encoding="utf-8"), _killed_section().partition("\n## ")[0]
    section = section_of_kills()
    page = page.replace(before, section) if before else f"{page}\n{section}"
    PAGE.write_text(page, encoding="utf-8")


def section_of_histories() -> str:
    """The section of what the simulator plays."""
    return "".join([_SIMULATED, *(_row(each.name, each.guard.what) for each in ANOMALIES)])


def section_of_kills() -> str:
    """The section of killed processes."""
    counts: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for kill in kills():
        counts[kill.operation, kill.stage][kill.trap.victim] += kill.trap.times
    victims, total = (DRIVER, JVM, WORKER), sum(counts.values(), Counter[str]())
    rows = [_row(*stage, *(found[victim] for victim in victims)) for stage, found in counts.items()]
    return "".join([_KILLED, *rows, _row("all", "", *(total[victim] for victim in victims))])


def _killed_section() -> str:
    """What the page says now of killed processes, and after it."""
    _, title, rest = PAGE.read_text(encoding="utf-8").partition(_KILLED_TITLE)
    return title + rest


def head() -> Iterator[str]:
    """The beginning of the page, with the promises."""
    yield _HEAD
    for promise, tests in PROMISES.items():
        yield _row(promise, ", ".join(f"`faults/{test}.py`" for test in tests))


def row_of(case: Stopped, course: Course) -> str:
    """The row of a case on the page."""
    return _row(case.operation, case.table_type, case.index, *_numbers(course))


def damage_row(name: str, every: Sequence[Damaged]) -> str:
    """The row of a table whose files were damaged."""
    return _row(name, *_damage_numbers(every))


def numbers_on_page() -> list[list[int]]:
    """The numbers in each row of what is stopped, the last of which is their sum."""
    page = PAGE.read_text(encoding="utf-8")
    _, found, rest = page.partition("".join([*head(), _CRASHES]))
    assert found, f"{PAGE.name} begins otherwise; {REWRITE} writes it again"
    rows = rest.partition("\n\n")[0].splitlines()
    return [[int(each.replace(",", "")) for each in row.split("|")[4:-1]] for row in rows]


def _numbers(course: Course) -> tuple[int, int, int, int]:
    # A death before each call, and none of them after the last.
    return course.calls, course.calls, len(course.states), len(course.faults())


def _damage_numbers(every: Sequence[Damaged]) -> tuple[int, int, int]:
    return len({each.path for each in every}), len(every), len(every)


def _sums(rows: Iterable[Sequence[int]]) -> list[int]:
    return [sum(column) for column in zip(*rows, strict=True)]


def _row(*cells: str | int) -> str:
    texts = (f"{each:,}" if isinstance(each, int) else each for each in cells)
    return f"| {' | '.join(texts)} |\n"
