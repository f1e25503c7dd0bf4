"""The section of the page of reliability that has the runs, a row each."""

from __future__ import annotations

import re

from tests.rivals.checks import Checked
from tests.rivals.report import Befallen
from tests.rivals.truth import UNKNOWN
from tests.support.reliability import PAGE

TITLE = "## Processes that write one table at once"
_TEXT = f"""\
{TITLE}

Processes of their own, some of them drivers of Spark, write one table with
`hoodie.write.concurrency.mode=OPTIMISTIC_CONCURRENCY_CONTROL`: upserts of keys that all have, of
new keys that several insert at once and of late rows, inserts, deletes, `insert_overwrite` and
`delete_partition`; between them cleans, archivings, compactions and rollbacks of dead writes. On
the local disk the lock is `FileSystemBasedLockProvider`, on versitygw, an S3 server,
`StorageBasedLockProvider` with a lease of 10 s. Writers are killed by SIGKILL and started again, or
stopped by SIGSTOP for 8 s, which is longer than their heartbeats last, for 14 s, which is longer
than a lease, and on the local disk for 75 s, which is longer than a lock file does. Before
versitygw stands a proxy that answers 503, drops answers, delays, cuts bodies and resets
connections.

Each writer notes what it is about to do, and what came of it. Afterwards:

- what was acknowledged is completed once, what was refused is not, and of what was cut off either;
- what writers noted, replayed in the order in which instants were completed, gives the rows of the
  table, in the end and as of each instant that is retained, and what a reader saw that read all the
  while, whole, as it was at a moment of the reading;
- no record key is there twice, `pyhudi validate` finds no error and no orphan after the last clean,
  and by their own notes and the audit files of the lock no two held it at once.

`python -m tests.rivals --minutes 10 --storage s3 --page` writes a row; without the look for
conflicts the same checks find lost rows within seconds (`tests/faults/test_rival_processes.py`).

| Table | Writers | Minutes | Commits | Conflicts | Refused, cut off | Killed, stopped | Faults \
| Compared | Anomalies |
|---|---|---:|---:|---:|---:|---:|---:|---:|---:|
"""


def write_row(checked: Checked, befallen: Befallen) -> None:
    """Write the row of a run, in the place of an earlier one of its kind."""
    page = PAGE.read_text(encoding="utf-8")
    before, title, rest = page.partition(TITLE)
    section, mark, after = rest.partition("\n## ")
    rows = [row for row in section.splitlines() if re.match(r"\| (local|versitygw)", row)]
    row = row_of(checked, befallen)
    kind = row.split("|")[1:3]
    kept = [each for each in rows if each.split("|")[1:3] != kind]
    text = _TEXT + "".join(f"{each}\n" for each in sorted([*kept, row]))
    start = before if title else f"{before}\n"
    PAGE.write_text(f"{start}{text}{mark}{after}", encoding="utf-8")


def row_of(checked: Checked, befallen: Befallen) -> str:
    """What came of a run, as a row of the table."""
    story = checked.story
    plan = story.plan
    writes = [each for each in story.tried.values() if each.is_write]
    commits = sum(each.moves_rows for each in story.completed)
    refused = sum(each.outcome == "refused" for each in writes)
    unknown = sum(each.outcome == UNKNOWN for each in writes)
    conflicts = sum(each.said.get("conflicts") or 0 for each in writes)
    place = "local disk" if plan.storage == "local" else "versitygw"
    kind = plan.table_type.lower().replace("_", "-")
    cells = (
        f"{place}, {kind}",
        _writers(checked),
        f"{plan.seconds / 60:g}",
        f"{commits:,}, {commits / plan.seconds:.1f} a second",
        f"{conflicts:,}",
        f"{refused:,}, {unknown:,}",
        f"{befallen.kills:,}, {befallen.stops:,}",
        f"{befallen.faults:,}",
        f"{checked.reads_compared:,} reads, {checked.instants_read:,} instants",
        f"{len(checked.anomalies):,}",
    )
    return f"| {' | '.join(cells)} |"


def _writers(checked: Checked) -> str:
    plan = checked.story.plan
    text = f"{plan.writers}"
    if plan.spark:
        text += f", {plan.spark} with Spark"
    if plan.hudi:
        text += f", and Hudi {plan.hudi}"
    return text
