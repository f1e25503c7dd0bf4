"""How long ``pyhudi validate`` takes on a table of many files, which is generated.

The files are base files with Hudi's footers, bloom filters of the default size among them, and one
commit names them all. Prints one JSON line.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import time
from pathlib import Path

import pyarrow as pa

from pyhudi.actions.commit import CommitMetadata, WriteStat, stats_by_partition
from pyhudi.basefile.bloom.filter import BloomParameters
from pyhudi.basefile.parquet import ParquetWriteOptions
from pyhudi.basefile.writer import BaseFileWriter
from pyhudi.config.table import TableConfig, TableType
from pyhudi.config.versions import TableVersion
from pyhudi.schema.arrow import arrow_to_avro
from pyhudi.schema.avro import dumps
from pyhudi.schema.metafields import with_meta, with_meta_avro
from pyhudi.storage.schemes import open_storage
from pyhudi.table.create import create_table

INSTANT = "20260101000000000"
COLUMNS = pa.schema([("id", pa.string()), ("part", pa.string()), ("value", pa.int64())])
RUN = "import sys; from pyhudi.cli.main import main; sys.exit(main(sys.argv[1:]))"


def generate(path: Path, files: int, partitions: int, rows: int) -> None:
    """Make a copy-on-write table of this many files of so many rows each."""
    storage = open_storage(str(path))
    config = TableConfig(
        name="many_files",
        table_type=TableType.COPY_ON_WRITE,
        version=TableVersion.SIX,
        record_key_fields=("id",),
        partition_fields=("part",),
        key_generator_class="org.apache.hudi.keygen.SimpleKeyGenerator",
    )
    create_table(storage, config)
    stats = []
    for number in range(files):
        partition = f"p{number % partitions:05}"
        marker = f"{partition}/.hoodie_partition_metadata"
        if number < partitions:
            storage.create(marker, f"commitTime={INSTANT}\npartitionDepth=1\n".encode())
        stats.append(write_file(path, partition, number, rows))
    commit = CommitMetadata(
        partition_to_write_stats=stats_by_partition(stats),
        extra_metadata={"schema": dumps(arrow_to_avro(COLUMNS, "many_files"))},
        operation_type="UPSERT",
    )
    for suffix, body in (
        ("commit.requested", b""),
        ("inflight", b""),
        ("commit", commit.to_bytes()),
    ):
        storage.create(f".hoodie/{INSTANT}.{suffix}", body)


def write_file(path: Path, partition: str, number: int, rows: int) -> WriteStat:
    """Write one base file, and what a commit says of it."""
    name = f"{number:08}-0000-0000-0000-000000000000-0_{number}-0-0_{INSTANT}.parquet"
    keys = [f"key-{number}-{row}" for row in range(rows)]
    table = pa.table(
        {
            "_hoodie_commit_time": [INSTANT] * rows,
            "_hoodie_commit_seqno": [f"{INSTANT}_{number}_{row}" for row in range(rows)],
            "_hoodie_record_key": keys,
            "_hoodie_partition_path": [partition] * rows,
            "_hoodie_file_name": [name] * rows,
            "id": keys,
            "part": [partition] * rows,
            "value": range(rows),
        }
    )
    avro = with_meta_avro(arrow_to_avro(COLUMNS, "many_files"))
    file = path / partition / name
    with (
        pa.OSFile(str(file), "wb") as sink,
        BaseFileWriter(
            sink, with_meta(COLUMNS), avro, ParquetWriteOptions(), BloomParameters()
        ) as writer,
    ):
        writer.write(table)
    size = file.stat().st_size
    return WriteStat(
        file_id=name.partition("_")[0],
        path=f"{partition}/{name}",
        partition_path=partition,
        num_writes=rows,
        num_inserts=rows,
        total_write_bytes=size,
        file_size_bytes=size,
    )


def main() -> None:
    """Generate the table unless it is there, and validate it as a user would."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--table", type=Path, required=True, help="where the table is made")
    parser.add_argument("--files", type=int, default=10_000)
    parser.add_argument("--partitions", type=int, default=100)
    parser.add_argument("--rows", type=int, default=1_000, help="rows of each file")
    given = parser.parse_args()
    if not given.table.exists():
        generate(given.table, given.files, given.partitions, given.rows)
    started = time.perf_counter()
    command = [sys.executable, "-c", RUN, "validate", str(given.table), "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    seconds = time.perf_counter() - started
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    line = {
        "files": given.files,
        "rows": given.files * given.rows,
        "exit_code": done.returncode,
        "seconds": round(seconds, 1),
        "cpu_seconds": round(used.ru_utime + used.ru_stime, 1),
        "peak_mb": used.ru_maxrss // 1024,
    }
    print(json.dumps(line))
    if done.returncode:
        sys.exit(done.stderr or done.stdout)


if __name__ == "__main__":
    main()
