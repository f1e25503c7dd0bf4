"""Show where the time goes while one base file is merged: one process, one thread, no Spark.

    python benchmarks/profile_merge.py --rows 460000

Writes one base file of TPC-H `lineitem` rows and merges 1 % changed rows into it, as a worker does.
Prints CPU seconds of decoding and of encoding the file by Arrow alone, CPU seconds and peak memory
of the merge with each of Arrow's allocators, and pyinstrument's tree of one merge.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from inputs import prepare
from memory import highest_bytes, reset_highest
from pyinstrument import Profiler

from pyhudi.basefile.bloom.filter import BloomParameters
from pyhudi.basefile.parquet import ParquetWriteOptions
from pyhudi.basefile.writer import BaseFileWriter
from pyhudi.config.options.merging import MergeMode
from pyhudi.filegroup.slices import BaseFile
from pyhudi.merge.rule import MergeRule
from pyhudi.runner.task import TaskIdentity
from pyhudi.schema.arrow import arrow_to_avro
from pyhudi.schema.metafields import RECORD_KEY, with_meta, with_meta_avro
from pyhudi.storage.schemes import open_storage
from pyhudi.write.context import WriteContext
from pyhudi.write.files.create import create_files
from pyhudi.write.files.merge import merge_file

INSTANTS = ("20260101000000000", "20260101000001000")
REPEAT = 5
ONE_PERCENT = 100


@dataclass(frozen=True)
class Case:
    """One base file, the rows to merge into it, and the write that does so."""

    job: WriteContext
    base: BaseFile
    incoming: pa.Table
    file: Path

    def merge(self, attempt: int) -> None:
        """Merge once; every attempt writes a file of its own."""
        task = TaskIdentity(partition_id=0, stage_id=1, attempt_id=attempt)
        merge_file(self.job, task, self.base, self.incoming)


def make_case(folder: str, rows: int) -> Case:
    """Write the base file of a case."""
    data = first_rows(prepare("1") / "base.parquet", rows)
    first, job = (_job(folder, instant, data.schema) for instant in INSTANTS)
    keyed = _keyed(data)
    task = TaskIdentity(partition_id=0, stage_id=0, attempt_id=0)
    stats = list(create_files(first, task, partition="", file_id="profile-0", rows=keyed))
    path = str(stats[0].path)
    file = Path(folder) / path
    base = BaseFile.of("", path, file.stat().st_size)
    if len(stats) != 1 or base is None:
        raise SystemExit(f"{rows} rows are more than one file")
    incoming = keyed.take(pa.array(range(0, rows, ONE_PERCENT)))
    place = incoming.schema.get_field_index("updated_at")
    newer = pc.add(incoming["updated_at"], 1)
    return Case(job, base, incoming.set_column(place, incoming.schema.field(place), newer), file)


def first_rows(path: Path, count: int) -> pa.Table:
    """The first rows of a Parquet file, without holding the others."""
    found, batches = 0, []
    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(use_threads=False):
            batches.append(batch)
            found += batch.num_rows
            if found >= count:
                break
    return pa.Table.from_batches(batches).slice(0, count).combine_chunks()


def _job(folder: str, instant: str, schema: pa.Schema) -> WriteContext:
    return WriteContext(
        storage=open_storage(folder),
        instant=instant,
        schema=with_meta(schema),
        avro_schema=with_meta_avro(arrow_to_avro(schema, "lineitem")),
        encoding=ParquetWriteOptions(),
        bloom=BloomParameters(),
        max_file_size_bytes=1 << 30,
        rule=MergeRule(mode=MergeMode.EVENT_TIME, ordering_fields=("updated_at",)),
        combine_batch=True,
    )


def _keyed(data: pa.Table) -> pa.Table:
    order, line = (data[name].cast(pa.string()) for name in ("l_orderkey", "l_linenumber"))
    keys = pc.binary_join_element_wise("l_orderkey:", order, ",l_linenumber:", line, "")
    return data.add_column(0, RECORD_KEY, keys)


def cpu_seconds(work: Callable[[int], object]) -> float:
    """The median CPU time of several runs."""
    found = []
    for attempt in range(1, REPEAT + 1):
        began = time.process_time()
        work(attempt)
        found.append(time.process_time() - began)
    return statistics.median(found)


def floor(case: Case) -> None:
    """Print what decoding and encoding the file cost when nothing else is done."""
    rows = pq.read_table(case.file, use_threads=False, partitioning=None)
    decoding = cpu_seconds(lambda _: pq.read_table(case.file, use_threads=False, partitioning=None))
    encoding = cpu_seconds(lambda _: encode(case, rows))
    print(f"{rows.num_rows:,} rows, {case.file.stat().st_size / 1e6:.1f} MB")
    print(f"decoding alone  {decoding:.2f} CPU s\nencoding alone  {encoding:.2f} CPU s", flush=True)


def encode(case: Case, rows: pa.Table) -> None:
    """Encode the rows of a base file as the engine does, and nothing else."""
    job = case.job
    sink = pa.OSFile(str(case.file.with_suffix(".floor")), "wb")
    with sink, BaseFileWriter(sink, job.schema, job.avro_schema, job.encoding, None) as writer:
        writer.write(rows.cast(job.schema))


def measure(rows: int) -> None:
    """Print CPU seconds and peak memory of the merge in this process."""
    with tempfile.TemporaryDirectory() as folder:
        case = make_case(folder, rows)
        pa.default_memory_pool().release_unused()
        reset_highest(os.getpid())
        seconds = cpu_seconds(case.merge)
    pool, peak = pa.default_memory_pool().backend_name, highest_bytes(os.getpid())
    print(f"merge, {pool:<9}{seconds:.2f} CPU s, process {peak / 1e6:.0f} MB at most", flush=True)


def main() -> None:
    """Print the floor, the merge by allocator, and the profile."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--rows", type=int, default=460_000, help="rows of the base file")
    parser.add_argument("--only-merge", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    pa.set_cpu_count(1)
    if given.only_merge:
        measure(given.rows)
        return
    with tempfile.TemporaryDirectory() as folder:
        case = make_case(folder, given.rows)
        floor(case)
        # An allocator is chosen when Arrow is loaded, so each has a process of its own.
        for pool in pa.supported_memory_backends():
            command = [sys.executable, __file__, "--only-merge", "--rows", str(given.rows)]
            environment = {**os.environ, "ARROW_DEFAULT_MEMORY_POOL": pool}
            subprocess.run(command, env=environment, check=True)
        case.merge(0)
        with Profiler(interval=0.001) as profiler:
            case.merge(REPEAT + 1)
    print(profiler.output_text(unicode=True, show_all=False))


if __name__ == "__main__":
    main()
