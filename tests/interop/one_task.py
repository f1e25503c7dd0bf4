"""A write into a table of one file group in this process: all that a job does, but no Spark."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa

from pyhudi.spark.work import prepare
from pyhudi.write.files.create import create_files
from pyhudi.write.files.merge import merge_file
from pyhudi.write.job import TaskIdentity

FILE_ID = "5e55104e-0000-4000-8000-000000000000-0"


def upsert(table: Path, rows: pa.Table, options: Mapping[str, str]) -> str:
    """Upsert rows into a table without partitions; answer the instant."""
    chosen = {**options, "hoodie.datasource.write.operation": "upsert"}
    work = prepare(rows.schema, str(table), chosen, None, None)
    keyed, _ = work.target.keying.key_rows(rows, 0)
    task = TaskIdentity(partition_id=0, stage_id=1, attempt_id=0)
    with work.begin() as transaction:
        state = work.open()
        job = work.job(state, transaction.instant)
        transaction.start(b"")
        bases = state.latest_base_files()
        if bases:
            (base,) = bases
            stats = [merge_file(job, task, base, keyed)]
        else:
            stats = list(create_files(job, task, partition="", file_id=FILE_ID, rows=keyed))
        work.commit(transaction, stats, None)
        return transaction.instant
