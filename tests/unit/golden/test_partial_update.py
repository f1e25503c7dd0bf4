"""Base rows and log records of a table that Hudi wrote, merged to the rows that Hudi reads."""

from __future__ import annotations

import io
import json
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import fastavro
import pyarrow as pa
import pyarrow.parquet as pq

from pyhudi.config.merging import PARTIAL_UPDATE_PAYLOAD, MergeLaw
from pyhudi.merge.rule import MergeRule
from pyhudi.schema.metafields import META_FIELDS, RECORD_KEY
from tests.support.golden import expected_rows, golden_table, row_texts, without

NAME = "v6_mor_partial_payload"
RULE = MergeRule(law=MergeLaw(PARTIAL_UPDATE_PAYLOAD), ordering_fields=("ts",))
MAGIC, AVRO_BLOCK, SCHEMA_ENTRY = b"#HUDI#", 3, 2


def number(source: io.BytesIO, kind: str) -> int:
    return int(struct.unpack(f">{kind}", source.read(struct.calcsize(kind)))[0])


def log_records(data: bytes) -> Iterator[dict[str, Any]]:
    """The records of a log file that holds nothing but Avro data blocks."""
    source = io.BytesIO(data)
    while magic := source.read(len(MAGIC)):
        assert magic == MAGIC
        end = number(source, "q") + source.tell()
        number(source, "i")
        assert number(source, "i") == AVRO_BLOCK
        header = {}
        for _ in range(number(source, "i")):
            key = number(source, "i")
            header[key] = source.read(number(source, "i")).decode()
        schema = fastavro.parse_schema(json.loads(header[SCHEMA_ENTRY]))
        number(source, "q")
        number(source, "i")
        for _ in range(number(source, "i")):
            record = io.BytesIO(source.read(number(source, "i")))
            yield fastavro.schemaless_reader(record, schema, None)
        source.seek(end)


def merged(stored: pa.Table, incoming: pa.Table) -> pa.Table:
    """The rows of a base file after those of its logs; those of new keys are added."""
    incoming = RULE.combine(incoming, incoming.column(RECORD_KEY))
    place = {key: at for at, key in enumerate(stored.column(RECORD_KEY).to_pylist())}
    keys = incoming.column(RECORD_KEY).to_pylist()
    met = pa.array([key in place for key in keys])
    at = pa.array([place[key] for key in keys if key in place], pa.int64())
    found = RULE.merge(stored.take(at), incoming.filter(met))
    touched = set(at.filter(pa.array(~found.is_kept)).to_pylist())
    kept = stored.filter(pa.array([row not in touched for row in range(stored.num_rows)]))
    return pa.concat_tables(
        [kept, found.rows, incoming.filter(pa.array([not m.as_py() for m in met]))]
    )


def table_of_group(base: Path) -> pa.Table:
    """The rows of one file group: its base file, then its log files in their order."""
    rows = pq.read_table(base, partitioning=None)
    rows = rows.cast(pa.schema([field.remove_metadata() for field in rows.schema]))
    file_id, instant = base.name.split("_")[0], base.stem.split("_")[-1]
    logs = sorted(base.parent.glob(f".{file_id}_{instant}.log.*"))
    records = [record for log in logs for record in log_records(log.read_bytes())]
    return merged(rows, pa.Table.from_pylist(records, schema=rows.schema)) if records else rows


def test_partial_updates_come_to_what_hudi_reads() -> None:
    bases = sorted(golden_table(NAME).glob("*/*.parquet"))
    rows = pa.concat_tables([table_of_group(base) for base in bases])
    rows = rows.drop_columns([name for name in META_FIELDS if name != RECORD_KEY])
    others = [name for name in META_FIELDS if name != RECORD_KEY]
    assert row_texts(rows) == without(expected_rows(NAME), *others)
