"""Peak memory of reading one file slice whose log records outgrow the room they are given.

    python benchmarks/log_memory.py --megabytes 300 --limit 64 --limit 1024

Makes a table of one file slice: a base file, and a log file of Parquet or Avro blocks with as many
megabytes of changed and new rows as asked (as Arrow holds them). For each limit a process of its
own reads the table, batch by batch, with `merge_memory`. Prints a JSON line a limit: seconds, rows,
a fingerprint, the peak of Arrow's own memory, of anonymous memory (what the process cannot give
back), and of all resident memory, mapped pages of the temporary file among it (VmHWM).
"""

from __future__ import annotations

import argparse
import io
import json
import struct
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from engines import home
from memory import PROC

import pyhudi
from pyhudi.logfile.avro.encode import encode_records
from pyhudi.logfile.avro.rows import CONTENT_VERSION
from pyhudi.logfile.framing import BlockKind, HeaderKey, encode_block

FIRST, SECOND = "20260101000000001", "20260101000000002"
BLOCK_ROWS = 200_000
BYTES_OF_A_ROW = 300
META = ("commit_time", "commit_seqno", "record_key", "partition_path", "file_name")
SCHEMA = pa.schema(
    [
        *((f"_hoodie_{name}", pa.string()) for name in META),
        ("id", pa.string()),
        ("ts", pa.int64()),
        ("price", pa.float64()),
        ("session", pa.string()),
        ("note", pa.string()),
    ]
)
AVRO_TYPES = {pa.string(): "string", pa.int64(): "long", pa.float64(): "double"}
AVRO = {
    "type": "record",
    "name": "row",
    "fields": [
        {"name": field.name, "type": ["null", AVRO_TYPES[field.type]], "default": None}
        for field in SCHEMA
    ],
}
PROPERTIES = {
    "hoodie.table.name": "orders",
    "hoodie.table.type": "MERGE_ON_READ",
    "hoodie.table.version": "6",
    "hoodie.timeline.layout.version": "1",
    "hoodie.table.recordkey.fields": "id",
    "hoodie.table.precombine.field": "ts",
    "hoodie.table.keygenerator.class": "org.apache.hudi.keygen.NonpartitionedKeyGenerator",
}
PAYLOADS = {
    "event_time": "DefaultHoodieRecordPayload",
    "partial": "PartialUpdateAvroPayload",
}


def rows(instant: str, numbers: np.ndarray, ts: int) -> pa.Table:
    """Rows of some numbers, with texts that hardly compress."""
    chance = np.random.default_rng(int(numbers[0]) + ts)
    count = len(numbers)
    keys = pc.utf8_lpad(pa.array(numbers).cast(pa.string()), width=12, padding="0")
    noise = [pa.array(np.char.mod("%016x", chance.integers(1 << 62, size=count))) for _ in range(6)]
    texts = [pc.binary_join_element_wise(*noise[:2], ""), pc.binary_join_element_wise(*noise, "")]
    meta = [
        pa.repeat(instant, count),
        pc.binary_join_element_wise(instant, pa.array(numbers).cast(pa.string()), "_"),
        keys,
        pa.repeat("", count),
        pa.repeat("g-0", count),
    ]
    prices = pa.array(chance.random(count))
    columns = [*meta, keys, pa.repeat(ts, count), prices, *texts]
    return pa.table([c.cast(f.type) for c, f in zip(columns, SCHEMA, strict=True)], schema=SCHEMA)


def make(folder: Path, megabytes: int, block: str, payload: str) -> None:
    """The table: half of the log's rows change stored ones, half are new; a tenth comes twice."""
    count = megabytes * 1_000_000 // BYTES_OF_A_ROW
    hoodie = folder / ".hoodie"
    hoodie.mkdir(parents=True)
    name = f"org.apache.hudi.common.model.{PAYLOADS[payload]}"
    own = {"type": "record", "name": "row", "fields": AVRO["fields"][len(META) :]}
    given = {"hoodie.compaction.payload.class": name, "hoodie.table.create.schema": json.dumps(own)}
    lines = [f"{key}={value}" for key, value in (PROPERTIES | given).items()]
    (hoodie / "hoodie.properties").write_text("\n".join(lines) + "\n")
    (folder / ".hoodie_partition_metadata").write_text("commitTime=1\npartitionDepth=0\n")
    for instant in (FIRST, SECOND):
        (hoodie / f"{instant}.deltacommit").write_text("{}")
    with pq.ParquetWriter(folder / f"g-0_0-0-0_{FIRST}.parquet", SCHEMA) as writer:
        for start in range(0, count, BLOCK_ROWS):
            writer.write_table(rows(FIRST, np.arange(start, min(count, start + BLOCK_ROWS)), 1))
    numbers = np.random.default_rng(7).permutation(np.arange(count // 2, count + count // 2))
    numbers = np.concatenate([numbers, numbers[: count // 10]])
    with (folder / f".g-0_{FIRST}.log.1_0-0-0").open("wb") as log:
        for at, start in enumerate(range(0, len(numbers), BLOCK_ROWS)):
            found = rows(SECOND, numbers[start : start + BLOCK_ROWS], 2 + at)
            log.write(encoded(found, block))


def encoded(found: pa.Table, block: str) -> bytes:
    """Rows as one log block."""
    header = {HeaderKey.INSTANT_TIME: SECOND, HeaderKey.SCHEMA: json.dumps(AVRO)}
    if block == "parquet":
        sink = io.BytesIO()
        pq.write_table(found, sink)
        return encode_block(BlockKind.PARQUET, header, sink.getvalue())
    records = b"".join(encode_records(found, AVRO).to_pylist())
    content = struct.pack(">ii", CONTENT_VERSION, found.num_rows) + records
    return encode_block(BlockKind.AVRO, header, content)


def anonymous_bytes() -> int:
    """What the process holds that no file backs."""
    for line in (PROC / "self" / "status").read_text().splitlines():
        if line.startswith("RssAnon:"):
            return int(line.split()[1]) * 1024
    return 0


class AnonymousPeak:
    """Samples this process in a thread while it is open; a context manager."""

    def __init__(self) -> None:
        self.bytes = 0
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> AnonymousPeak:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._ended.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._ended.wait(0.005):
            self.bytes = max(self.bytes, anonymous_bytes())


def highest_bytes() -> int:
    """The highest resident size of this process, as the kernel counts it."""
    for line in (PROC / "self" / "status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    return 0


def measure(folder: Path, limit: int) -> dict[str, object]:
    """Read the table batch by batch."""
    before, begun = anonymous_bytes(), time.perf_counter()
    count, total, newest = 0, 0.0, 0
    with AnonymousPeak() as peak:
        for batch in pyhudi.read_batches(str(folder), merge_memory=limit):
            count += batch.num_rows
            total += pc.sum(batch.column("price")).as_py() or 0.0
            newest += pc.sum(batch.column("ts")).as_py() or 0
    return {
        "limit": limit,
        "seconds": round(time.perf_counter() - begun, 2),
        "rows": count,
        "fingerprint": f"{newest} {total:.4f}",
        "arrow_peak": pa.default_memory_pool().max_memory(),
        "anonymous_before": before,
        "anonymous_peak": peak.bytes,
        "resident_peak": highest_bytes(),
    }


def lines(folder: Path, limits: list[int]) -> Iterator[dict[str, object]]:
    """A measurement for each limit, in a process of its own."""
    for limit in limits:
        command = [sys.executable, __file__, "--measure", str(folder), "--limit", str(limit)]
        answer = subprocess.run(command, check=True, capture_output=True, text=True)
        yield json.loads(answer.stdout)


def main() -> None:
    """Make the table if it is not there, and measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--megabytes", type=int, default=300)
    parser.add_argument("--limit", type=int, action="append", help="megabytes, may be repeated")
    parser.add_argument("--block", choices=["parquet", "avro"], default="parquet")
    parser.add_argument("--payload", choices=sorted(PAYLOADS), default="event_time")
    parser.add_argument("--measure", type=Path, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.measure:
        print(json.dumps(measure(given.measure, given.limit[0])))
        return
    folder = home() / f"slice-{given.megabytes}-{given.block}-{given.payload}"
    if not folder.exists():
        make(folder, given.megabytes, given.block, given.payload)
    for line in lines(folder, [each * 1_000_000 for each in given.limit or [64, 1024]]):
        print(json.dumps(line), flush=True)


if __name__ == "__main__":
    main()
