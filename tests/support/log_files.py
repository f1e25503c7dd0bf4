"""Log blocks made by hand, and the golden tables' log files."""

import io
import json
import struct
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import fastavro
import numpy as np
import pyarrow as pa

from pyhudi.logfile.avro.rows import CONTENT_VERSION
from pyhudi.logfile.deletes.blocks import (
    ARROW,
    Deletes,
    OrderingColumn,
    OrderingKind,
    encode_deletes,
)
from pyhudi.logfile.framing import BlockKind, HeaderKey, encode_block
from pyhudi.logfile.reader import Block, iter_blocks
from pyhudi.timeline.instant import Action, Instant, State
from pyhudi.timeline.timeline import Timeline
from tests.support.golden import golden_table

SCHEMA: Mapping[str, Any] = {
    "type": "record",
    "name": "row",
    "fields": [
        {"name": "_hoodie_record_key", "type": ["null", "string"], "default": None},
        {"name": "ts", "type": ["null", "long"], "default": None},
        {"name": "name", "type": ["null", "string"], "default": None},
    ],
}


def rows(*values: tuple[str, int | None, str | None]) -> list[dict[str, Any]]:
    """Records of ``SCHEMA``."""
    return [{"_hoodie_record_key": key, "ts": ts, "name": name} for key, ts, name in values]


def join_records(records: Collection[bytes]) -> bytes:
    """The content of an Avro data block of encoded records."""
    parts = [struct.pack(">ii", CONTENT_VERSION, len(records))]
    for record in records:
        parts += [struct.pack(">i", len(record)), record]
    return b"".join(parts)


def avro_content(records: Iterable[Mapping[str, Any]], schema: Mapping[str, Any] = SCHEMA) -> bytes:
    """The content of an Avro data block."""
    parsed = fastavro.parse_schema(dict(schema))
    encoded = []
    for record in records:
        sink = io.BytesIO()
        fastavro.schemaless_writer(sink, parsed, record)
        encoded.append(sink.getvalue())
    return join_records(encoded)


def avro_block(
    instant: str,
    records: Iterable[Mapping[str, Any]],
    schema: Mapping[str, Any] = SCHEMA,
    **header: str,
) -> bytes:
    """An Avro data block; ``header`` has more entries by their names."""
    entries = {HeaderKey.INSTANT_TIME: instant, HeaderKey.SCHEMA: json.dumps(schema)}
    entries |= {HeaderKey[name]: value for name, value in header.items()}
    return encode_block(BlockKind.AVRO, entries, avro_content(records, schema))


def deletes(*records: tuple[str, OrderingKind, Any]) -> Deletes:
    """Delete records of key, kind of ordering value, and value."""
    column = _ordering_column([(kind, value) for _, kind, value in records])
    return Deletes(
        keys=pa.array([key for key, _, _ in records], pa.string()),
        partitions=pa.array(["p"] * len(records), pa.string()),
        kinds=column.kinds,
        orderings=column.values,
    )


def array_deletes(*records: tuple[str, list[tuple[OrderingKind, Any] | None]]) -> Deletes:
    """Delete records of key and, for each of several ordering columns, kind and value or None."""
    width = max(len(values) for _, values in records)
    padded = [[*values, *[None] * (width - len(values))] for _, values in records]
    return Deletes(
        keys=pa.array([key for key, _ in records], pa.string()),
        partitions=pa.array(["p"] * len(records), pa.string()),
        kinds=np.full(len(records), OrderingKind.ARRAY, dtype=np.int8),
        several=tuple(_ordering_column([values[at] for values in padded]) for at in range(width)),
    )


def _ordering_column(given: Sequence[tuple[OrderingKind, Any] | None]) -> OrderingColumn:
    found = [each or (OrderingKind.NONE, None) for each in given]
    return OrderingColumn(
        kinds=np.array([kind for kind, _ in found], dtype=np.int8),
        values={
            kind: pa.array([value if own is kind else None for own, value in found], ARROW[kind])
            for kind in {own for own, _ in found}
            if kind in ARROW
        },
    )


def delete_block(instant: str, *keys: str) -> bytes:
    """A delete block whose deletes come before any row, as those of Hudi's delete operation."""
    content = encode_deletes(deletes(*((key, OrderingKind.INT, 0) for key in keys)))
    return encode_block(BlockKind.DELETE, {HeaderKey.INSTANT_TIME: instant}, content)


def rollback_block(instant: str, target: str) -> bytes:
    """A command block that rolls a write back."""
    header = {
        HeaderKey.INSTANT_TIME: instant,
        HeaderKey.TARGET_INSTANT_TIME: target,
        HeaderKey.COMMAND_BLOCK_TYPE: "0",
    }
    return encode_block(BlockKind.COMMAND, header, b"")


def golden_logs(name: str) -> list[Path]:
    """The log files of a golden table, those of its metadata table aside."""
    table = golden_table(name)
    found = (path for path in table.rglob(".*.log.*") if ".hoodie" not in path.parts)
    return sorted(found)


def golden_blocks(name: str, kind: BlockKind) -> Iterator[tuple[Block, bytes]]:
    """The blocks of a kind in a golden table's log files, each with its content."""
    for path in golden_logs(name):
        source = pa.BufferReader(path.read_bytes())
        for block in iter_blocks(source, path.name):
            if block.kind is kind:
                yield block, block.read(source)


def committed(*times: str) -> Timeline:
    """A timeline on which the writes of these times, and none before them, are committed."""
    done = [
        Instant(time=time, action=Action.DELTA_COMMIT, state=State.COMPLETED)
        for time in ("", *times)
    ]
    return Timeline.of(done)
