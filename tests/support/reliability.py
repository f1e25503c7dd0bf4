"""The page of what is stopped, damaged and made up, and of what came of it."""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

from tests.support.crash_cases import Case, cases
from tests.support.crashes import Course, World, course_of
from tests.support.damaging import Damaged, damages_of, tables
from tests.support.kill_cases import kills
from tests.support.source_tree import ROOT
from tests.support.traps import DRIVER, JVM, WORKER
from tests.support.undo_cases import UNDOING, UndoCase

PAGE: Final = ROOT / "docs" / "reliability.md"
REWRITE: Final = "make reliability"

_HEAD: Final = """\
# Reliability

What the tests stop, damage and make up, and what holds. `make reliability` tries all of it and
writes this page; `make test` tries a sample.

"""
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
`tests/faults/test_crash_in_restore.py`).

| Operation | Table type | Index | Storage calls | Deaths | Different states | Errors |
|---|---|---|---:|---:|---:|---:|
"""
_DAMAGES: Final = """\
## Damage to what was committed

Of each table below every file that readers need was damaged, one at a time: lost, cut short at six
places, and of log files also each block lost and each byte flipped that says where a block lies, of
which kind it is and of which write, two bits each. A read raises an error that names the file; none
gave other rows (`tests/faults/test_damaged_tables.py`). Only tables of which the active timeline
tells all files are listed; of archived commits nothing is known but the files themselves.

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
gives (`tests/faults/test_hostile_bytes.py`; `make fuzz` tries more).

| Bytes of | Examples |
|---|---:|
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
    found: list[tuple[Case | UndoCase, Course]] = [
        (case, course_of(case.prepare(), case.act)) for case in cases()
    ]
    for undone in UNDOING:
        undoing = undone.make()
        found.append((undone, course_of(World(table=undoing.storage), undoing.do)))
    totals = _sums(_numbers(course) for _, course in found)
    damaged = {name: damages_of(make()) for name, make in tables().items()}
    if (courses, points) != (len(found), totals[0] + totals[-1]):
        return
    if damages != sum(map(len, damaged.values())):
        return
    killed = _killed_section()
    parts = [
        _HEAD,
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
        *(("\n", killed) if killed else ()),
    ]
    PAGE.write_text("".join(parts), encoding="utf-8")


def write_kills(told: Collection[str]) -> None:
    """Write the section of killed processes, when all that are to be killed were."""
    if {kill.name for kill in kills()} != set(told):
        return
    page, before = PAGE.read_text(encoding="utf-8"), _killed_section()
    section = section_of_kills()
    page = page.replace(before, section) if before else f"{page}\n{section}"
    PAGE.write_text(page, encoding="utf-8")


def section_of_kills() -> str:
    """The section of killed processes."""
    counts: dict[tuple[str, str], Counter[str]] = defaultdict(Counter)
    for kill in kills():
        counts[kill.operation, kill.stage][kill.trap.victim] += kill.trap.times
    victims, total = (DRIVER, JVM, WORKER), sum(counts.values(), Counter[str]())
    rows = [_row(*stage, *(found[victim] for victim in victims)) for stage, found in counts.items()]
    return "".join([_KILLED, *rows, _row("all", "", *(total[victim] for victim in victims))])


def _killed_section() -> str:
    """What the page says now of killed processes, which comes last on it."""
    _, title, rest = PAGE.read_text(encoding="utf-8").partition(_KILLED_TITLE)
    return title + rest


def row_of(case: Case | UndoCase, course: Course) -> str:
    """The row of a case on the page."""
    return _row(case.operation, case.table_type, case.index, *_numbers(course))


def damage_row(name: str, every: Sequence[Damaged]) -> str:
    """The row of a table whose files were damaged."""
    return _row(name, *_damage_numbers(every))


def numbers_on_page() -> list[list[int]]:
    """The numbers in each row of what is stopped, the last of which is their sum."""
    page = PAGE.read_text(encoding="utf-8")
    _, head, rest = page.partition(_HEAD + _CRASHES)
    assert head, f"{PAGE.name} begins otherwise; {REWRITE} writes it again"
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
