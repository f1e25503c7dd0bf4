"""The page of the console command: ``python -m scripts.command_page > docs/command.md``.

A table of flights is written in this process, as the example DAG would write it, and every command
is run on it. Needs the extra ``demo``, for the flights.
"""

from __future__ import annotations

import contextlib
import io
import logging
import os
import shutil
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from textwrap import fill

import pyarrow as pa
import pyarrow.compute as pc
from rich.console import Console

from dags.flights import read_flights
from pyhudi.cli.commands import command_parser
from pyhudi.cli.main import parse_words
from pyhudi.cli.render import show
from pyhudi.pipeline.environment import Environment
from pyhudi.pipeline.write import write_rows
from pyhudi.runner.in_process import InProcessRunner
from pyhudi.storage.schemes import open_storage
from pyhudi.table.table import open_table
from pyhudi.transaction.lock.lock_file import lock_text
from pyhudi.transaction.process import ProcessMark
from tests.support.local_rows import LocalRows

SHOWN_AT = "/data/flights"
WIDTH = 116
BEGIN_MS = 1_767_322_800_000
OPTIONS = {
    "hoodie.table.name": "flights",
    "hoodie.datasource.write.table.type": "MERGE_ON_READ",
    "hoodie.datasource.write.recordkey.field": "carrier,flight,origin,time_hour",
    "hoodie.datasource.write.partitionpath.field": "origin",
    "hoodie.datasource.write.precombine.field": "updated_at",
    "hoodie.parquet.small.file.limit": "0",
    "hoodie.table.timeline.timezone": "UTC",
}
OPERATION = "hoodie.datasource.write.operation"

HEAD = """\
# The command `pyhudi`

Made by `python -m scripts.command_page > docs/command.md`; not to be edited by hand.

The package brings a command that looks at a table, checks it, and runs services on it. It needs
neither Spark nor a JVM, and opens every storage that the engine reads:

```sh
pyhudi timeline /data/flights
pyhudi validate s3://lake/flights --storage-option region=eu-central-1
```

In a terminal an answer is a table in colour, of which columns that find no room are left out
and named; in a pipe it is aligned text with all columns; with `--json` it is one JSON object
with the same facts, sizes in bytes and spans in seconds. Times are in the zone of the table's
timeline, and say so. `NO_COLOR=1` leaves colours out. Secrets go into the environment variable
`PYHUDI_SECRETS`, as `{"storage_options": {"access_key": "...", "secret_key": "..."}}`.

| exit code | means |
|---|---|
| 0 | done |
| 1 | `validate` has errors or orphans; `lock show` a holder |
| 2 | the request is wrong, no table is there, or it is damaged |
| 3 | another writer was there first; try again |
| 4 | the surroundings failed: disk, network; try again |
| 5 | an error of pyhudi's own |

After one of the last four standard error has one line that says why. Where argcomplete is
installed, which comes with Airflow, `eval "$(register-python-argcomplete pyhudi)"` lets a shell
complete commands and flags.

The answers below are of a merge-on-read table of the flights that left New York in early 2013.
"""
CHAPTERS = {
    "timeline": (
        "",
        "What happened, oldest first. Of rows `+` counts inserted, `~` updated and `-` "
        "deleted ones. Instants that have left the timeline for the archive come with "
        "`--archived`; no more of it is read than the limit needs.",
    ),
    "commits": (
        "",
        "The completed writes, and how many files of each kind they wrote; with "
        "`--archived` also those that have left the timeline.",
    ),
    "show": (
        "{upsert}",
        "One instant: a commit's files and extra metadata, a plan's slices, what a clean "
        "or a rollback says. One that was archived is found in the archive.",
    ),
    "diff": (
        "{bulk_insert} {upsert}",
        "What was written after the first of two instants, up to and with the second; "
        "times do too. Archived instants between them are among it.",
    ),
    "files": (
        "",
        "The latest slice of every file group; `older` counts the slices before it that "
        "are there still.",
    ),
    "stats": (
        "",
        "Sizes, small files, what writes cost, what services would do. The write "
        "amplification is the number of rows that writes and services wrote, for each row "
        "that was changed.",
    ),
    "schema": (
        "",
        "The columns with what they are for, and how the commits of the active timeline "
        "changed them.",
    ),
    "options": (
        "--find small.file",
        "The table's properties; with `--find`, options and what they mean.",
    ),
    "head": (
        "-n 4 --columns carrier,flight,time_hour,dep_delay,arr_delay",
        "A few rows, of the first batch of the first file. No more is read.",
    ),
    "count": (
        "--by-partition",
        "The footers of base files know how many rows they have, and that is exact "
        "wherever no log files lie on top: always in a copy-on-write table. Of slices "
        "with log files the keys are merged.",
    ),
    "plan compaction": (
        "--max-delta-commits 2",
        "The slices that a compaction would take, by Hudi's options.",
    ),
    "compact": (
        "--max-delta-commits 2",
        "Plans and runs a compaction in this process. It takes the flags of "
        "`spark_jobs/compaction.py`, as every service those of its job; with `--dry-run` it is "
        "`plan compaction`.",
    ),
    "plan clean": (
        "--policy KEEP_LATEST_FILE_VERSIONS --hoodie-conf hoodie.clean.fileversions.retained=1",
        "How many files and bytes of which partitions a clean would delete; the same as "
        "`pyhudi clean --dry-run`.",
    ),
    "clean": (
        "--policy KEEP_LATEST_FILE_VERSIONS --hoodie-conf hoodie.clean.fileversions.retained=1",
        "Deletes the files that no retained instant needs, and finishes a clean that died.",
    ),
    "plan archive": (
        "--keep-min-commits 2 --keep-max-commits 3",
        "The instants that would leave the timeline; the same as `pyhudi archive --dry-run`.",
    ),
    "archive": (
        "--keep-min-commits 2 --keep-max-commits 3",
        "Moves old instants to the archive, where Hudi looks for them too.",
    ),
    "savepoint": (
        "--user ops --comment nightly",
        "Keeps the files of the latest write, or of the one that `--instant` names, from "
        "every service. `--mode list` lists savepoints, `--mode delete` deletes one. With "
        "`--dry-run` it says which files it would keep, or, of one that is to be deleted, which "
        "ones nothing but that savepoint keeps.",
    ),
    "rollback": (
        "--instant {later} --dry-run",
        "Takes the latest write back, or one that did not complete. With `--dry-run` it "
        "says what would be deleted, and refuses what it would refuse.",
    ),
    "restore": (
        "--instant {saved} --dry-run",
        "Takes the table back to a savepoint: everything after it is undone, the newest "
        "first. Let it say what that is before it does it.",
    ),
    "lock show": (
        "",
        "Who holds the lock that writers take, where they write at once: here a process of "
        "another machine, an hour ago. It ends with 1 while somebody holds it. Locks in other "
        "folders, and times after which they are over, are given by `--hoodie-conf`.",
    ),
    "lock break": (
        "--yes",
        "Takes the lock from a holder that is gone. It is refused while the holder shows a sign "
        "of life: its process runs here, its lease is not over, it took the lock minutes ago, or "
        "a writer of the table has a fresh heartbeat. With `--force` it is done all the same, and "
        "a writer of this engine that had the lock then fails instead of committing.",
    ),
    "validate": (
        "",
        "Holds the table against its timeline. An *error* is a table that answers wrongly "
        "or not at all: a file is missing that no clean deleted, it has another size than "
        "its commit says, its footer or a committed block cannot be read, keys lie "
        "outside the range of its footer, an instant or a partition's metadata make no "
        "sense, or a key comes twice in a partition although no write may have kept "
        "duplicates (inserts may: then it is a *note*, unless `--unique-keys` is given). "
        "An *orphan* is a file that no instant names. Both end with 1. Record keys are "
        "read, eight bytes of memory each, and so are the rows of log files, unless "
        "`--no-keys` says otherwise. Files of archived commits are held against these "
        "with `--archived`.",
    ),
}


VERSIONS_TEXT = (
    "Gives a table the version 6, 8 or 9 of the format, which Hudi 0.14, 1.0 and 1.1 made; "
    "`pyhudi downgrade` goes the other way. Writers wait meanwhile. Stop whoever reads the table, "
    "as Hudi's readers go on with the timeline of the old version. The metadata table is switched "
    "off. Where it fails or dies, the table is as before or as after, and the same command "
    "finishes it. A merge-on-read table is compacted whole first; down to version 6 the log files "
    "of its earlier slices have to be cleaned away by then, and it is said how. Bootstrapped "
    "tables, change data and what merges by more than the order of time are refused by name."
)


@dataclass
class Hours:
    """A clock by which a write takes some seconds and the next comes an hour later."""

    now: int = BEGIN_MS
    ticks: list[int] = field(default_factory=list)

    def now_ms(self) -> int:
        """Milliseconds since 1970 in UTC."""
        self.now += 137
        return self.now

    def monotonic_ms(self) -> int:
        """Milliseconds since the table began."""
        return self.now - BEGIN_MS

    def sleep(self, seconds: float) -> None:
        """Nothing here waits for anybody."""
        self.now += round(seconds * 1000)

    def repeating(self, *_: object) -> contextlib.AbstractContextManager[None]:
        """Nothing here takes long enough."""
        return contextlib.nullcontext()


def make_table(path: Path, clock: Hours) -> dict[str, str]:
    """Write the table; the instant of each operation."""
    everything = read_flights()
    january = everything.filter(pc.equal(everything["month"], 1))
    february = everything.filter(pc.equal(everything["month"], 2))
    late = february.filter(pc.greater(february["arr_delay"], 120))
    steps = (
        ("bulk_insert", january),
        ("insert", february),
        ("upsert", late),
        ("delete", late.slice(0, 99)),
    )
    return {
        operation: write(path, operation, rows, clock, number)
        for number, (operation, rows) in enumerate(steps, start=1)
    }


def write(path: Path, operation: str, rows: pa.Table, clock: Hours, number: int) -> str:
    """Write rows as the run of a DAG would, and let an hour go by; the instant."""
    stamped = rows.append_column(
        "updated_at",
        pa.repeat(pa.scalar(clock.now * 1000, pa.timestamp("us", "UTC")), rows.num_rows),
    )
    runner = InProcessRunner()
    environment = Environment(runner=runner, clock=clock, open_storage=open_storage)
    run = {"airflow.dag_id": "flights", "airflow.run_id": f"scheduled__2013-{number:02}-01"}
    source = LocalRows.of(runner, stamped)
    result = write_rows(
        environment, source, str(path), {**OPTIONS, OPERATION: operation}, commit_metadata=run
    )
    done = path / ".hoodie" / f"{result.instant}.deltacommit"
    os.utime(done, ns=(0, (clock.now + 700 * number) * 1_000_000))
    clock.now += 3_600_000
    return str(result.instant)


def leave_lock(table: Path, now_ms: int) -> None:
    """The lock of one who died on another machine."""
    process = ProcessMark(host="worker-3", boot=None, namespace=None, pid=4711, started=None)
    lock = table / ".hoodie" / "lock"
    lock.write_bytes(lock_text("1f7ad1c4-6a55-4a0e-9d25-a1f4dbb1f0c2", process, now_ms))
    os.utime(lock, (now_ms / 1000, now_ms / 1000))


def answered(words: list[str], table: Path) -> str:
    """What a terminal shows for a command line."""
    parser = command_parser()
    given = parse_words(parser, words)
    out = io.StringIO()
    console = Console(file=out, force_terminal=True, color_system=None, width=WIDTH)
    with contextlib.redirect_stderr(io.StringIO()):
        show(given.gather(given), console)
    lines = (line.rstrip() for line in out.getvalue().splitlines())
    return "\n".join(lines).replace(str(table), SHOWN_AT)


def chapter(name: str, table: Path, instants: dict[str, str]) -> str:
    """A command with its answer."""
    extra, text = CHAPTERS[name]
    extra = extra.format(**instants)
    words = [*name.split(), str(table), *extra.split()]
    line = " ".join(["pyhudi", *name.split(), SHOWN_AT, extra]).strip()
    text = fill(text, 110)
    return f"## {name}\n\n{text}\n\n```sh\n{line}\n```\n\n```text\n{answered(words, table)}\n```\n"


def versions(folder: Path, clock: Hours) -> str:
    """What a change of the version would do to a table that is copy-on-write."""
    table = folder / "airports"
    rows = pa.table({"id": ["EWR", "JFK", "LGA"], "flights": [121, 111, 104]})
    own = {
        **OPTIONS,
        "hoodie.table.name": "flights",
        "hoodie.datasource.write.table.type": "COPY_ON_WRITE",
        "hoodie.datasource.write.recordkey.field": "id",
        "hoodie.datasource.write.partitionpath.field": "",
    }
    stamp = pa.repeat(pa.scalar(clock.now * 1000, pa.timestamp("us", "UTC")), rows.num_rows)
    runner = InProcessRunner()
    environment = Environment(runner=runner, clock=clock, open_storage=open_storage)
    source = LocalRows.of(runner, rows.append_column("updated_at", stamp))
    write_rows(environment, source, str(table), own)
    line = "--to 9 --dry-run"
    answer = answered(["upgrade", str(table), *line.split()], table)
    return (
        f"## upgrade\n\n{fill(VERSIONS_TEXT, 110)}\n\n```sh\npyhudi upgrade {SHOWN_AT} {line}\n```"
        f"\n\n```text\n{answer}\n```\n"
    )


def damaged(table: Path) -> str:
    """What is said of a table that lost a file and has one too many."""
    files = sorted(table.glob("*/*.parquet"))
    shutil.copy(files[0], files[0].with_name(files[0].name.replace("_0-", "_7-", 1)))
    files[-1].unlink()
    answer = answered(["validate", str(table), "--archived"], table)
    text = "And with `--archived`, where a file was deleted, and another copied:"
    return f"{text}\n\n```text\n{answer}\n```\n"


def flags() -> str:
    """The flags of every command, as argparse tells them."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        command_parser().print_help()
    return f"## All commands\n\n```text\n{out.getvalue().rstrip()}\n```\n"


def main() -> None:
    """Print the page."""
    os.environ["COLUMNS"] = "100"
    # Airflow sends what is logged to standard output.
    logging.getLogger("pyhudi").setLevel(logging.ERROR)
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "flights"
        clock = Hours()
        instants = make_table(table, clock)
        chapters = []
        for name in CHAPTERS:
            if name == "rollback":
                instants["saved"] = str(open_table(table).timeline.last_completed.time)
                late = read_flights().slice(0, 99)
                instants["later"] = write(table, "upsert", late, clock, 5)
            if name == "lock show":
                leave_lock(table, clock.now)
            chapters.append(chapter(name, table, instants))
        parts = (HEAD, flags(), *chapters, damaged(table), versions(Path(folder), clock))
    sys.stdout.write("\n".join(parts))


if __name__ == "__main__":
    main()
