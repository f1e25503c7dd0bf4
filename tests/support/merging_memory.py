"""A base file of many row groups merged with a few rows; a process of its own tells Arrow's peak.

python -m tests.support.merging_memory <table>
"""

import sys

import pyarrow as pa

from pyhudi.actions.commit import CommitMetadata
from pyhudi.basefile.parquet import ParquetWriteOptions
from pyhudi.schema.arrow import arrow_to_avro
from pyhudi.schema.avro import dumps
from pyhudi.storage.schemes import open_storage
from pyhudi.table.create import create_table
from pyhudi.table.table import load_table
from pyhudi.timeline.instant import Action
from pyhudi.transaction.instant_run import InstantRun
from pyhudi.write.files import merge
from tests.support.in_process import CONFIG, clock_at, writer_on
from tests.support.tasks import DATA, create_file, incoming, job_on, task

ROWS_OF_A_GROUP = 4_096
TEXT = "a text that is as long as those of a table with some columns more may be, " * 4
ENCODING = ParquetWriteOptions(codec="none", row_group_rows=ROWS_OF_A_GROUP, dictionary=False)


def make_table(path: str, row_groups: int) -> int:
    """A table of one base file; the bytes that Arrow holds when all its rows are in memory."""
    storage, keys = open_storage(path), range(row_groups * ROWS_OF_A_GROUP)
    create_table(storage, CONFIG)
    rows = incoming({f"{key:09}": (1, f"{key}{TEXT}") for key in keys})
    with InstantRun(writer_on(storage, clock_at()), Action.COMMIT) as run:
        run.start(None)
        job = job_on(storage, run.instant, encoding=ENCODING, max_file_size_bytes=1 << 40)
        made = create_file(job, rows)
        commit = CommitMetadata(
            partition_to_write_stats={"p": (made,)},
            extra_metadata={"schema": dumps(arrow_to_avro(DATA, "plain"))},
            operation_type="UPSERT",
        )
        run.complete(commit, frozenset([made.path or ""]))
    return int(rows.nbytes)


def merge_peak(path: str) -> int:
    """Arrow's highest memory while the file is merged with a few rows."""
    storage = open_storage(path)
    (base,) = load_table(storage).latest_base_files(["p"])
    merge.BATCH_ROWS = ROWS_OF_A_GROUP
    job = job_on(storage, "20270101000000000", encoding=ENCODING)
    stat = merge.merge_file(job, task(), base, incoming({"000000007": (2, "newer")}))
    if stat.num_update_writes != 1:
        raise AssertionError(f"nothing was merged: {stat}")
    return pa.default_memory_pool().max_memory()


if __name__ == "__main__":
    print(merge_peak(sys.argv[1]))
