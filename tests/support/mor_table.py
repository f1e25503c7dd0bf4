"""Small merge-on-read tables made by hand: base files, log files and a timeline."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from pyhudi.config.options.merging import CUSTOM_PAYLOAD
from pyhudi.schema.metafields import META_FIELDS

NULLABLE = [{"name": name, "type": ["null", "string"], "default": None} for name in META_FIELDS]
OWN = [
    {"name": "id", "type": "string"},
    {"name": "ts", "type": ["null", "long"], "default": None},
    {"name": "name", "type": ["null", "string"], "default": None},
]
SCHEMA: dict[str, Any] = {"type": "record", "name": "row", "fields": [*NULLABLE, *OWN]}
ARROW = pa.schema(
    [
        *((name, pa.string()) for name in META_FIELDS),
        ("id", pa.string()),
        ("ts", pa.int64()),
        ("name", pa.string()),
    ]
)
EVENT_TIME = "org.apache.hudi.common.model.DefaultHoodieRecordPayload"
COMMIT_TIME = "org.apache.hudi.common.model.OverwriteWithLatestAvroPayload"

_DIGITS = "202601010000000"

Row = tuple[str, int | None, str | None]


def moment(digit: str) -> str:
    """The instant that tests call by a digit or a letter, which comes after all digits."""
    return f"{_DIGITS}{int(digit, 36):02d}"


def records(instant: str, *rows: Row, has_meta: bool = True) -> list[dict[str, Any]]:
    """Rows of one write, meta columns included."""
    found = []
    for key, ts, name in rows:
        meta = [moment(instant), f"{moment(instant)}_0_1", key, "", "f"] if has_meta else [None] * 5
        values = dict(zip(META_FIELDS, meta, strict=True))
        found.append({**values, "id": key, "ts": ts, "name": name})
    return found


@dataclass(frozen=True)
class MorTable:
    """A table without partitions in a folder; instants are given by their last digits.

    ``is_later`` says that it is of a version after 6, whose completed instants say when they ended.
    """

    path: Path
    is_later: bool = False

    @classmethod
    def make(cls, path: Path, **properties: str) -> MorTable:
        """An empty one; ``properties`` have underscores for dots."""
        own = {
            "hoodie.table.name": "made",
            "hoodie.table.type": "MERGE_ON_READ",
            "hoodie.table.version": "6",
            "hoodie.timeline.layout.version": "1",
            "hoodie.table.recordkey.fields": "id",
            "hoodie.table.precombine.field": "ts",
            "hoodie.compaction.payload.class": EVENT_TIME,
            "hoodie.table.keygenerator.class": "org.apache.hudi.keygen.NonpartitionedKeyGenerator",
            "hoodie.table.create.schema": json.dumps({**SCHEMA, "fields": OWN}),
        }
        given = {key.replace("_", "."): value for key, value in properties.items()}
        (path / ".hoodie").mkdir(parents=True)
        (path / ".hoodie_partition_metadata").write_text("commitTime=1\npartitionDepth=0\n")
        lines = [f"{key}={value}" for key, value in (own | given).items()]
        (path / ".hoodie" / "hoodie.properties").write_text("\n".join(lines) + "\n")
        return cls(path)

    @classmethod
    def merged_by(cls, merger: str, path: Path) -> MorTable:
        """An empty one whose rows a Python class merges."""
        own = {"pyhudi_merge_custom_merger": merger}
        return cls.make(path, hoodie_compaction_payload_class=CUSTOM_PAYLOAD, **own)

    @classmethod
    def of_version_9(cls, path: Path, **properties: str) -> MorTable:
        """An empty one of version 9, which merges by event time unless ``properties`` say else."""
        own = {
            "hoodie_table_version": "9",
            "hoodie_timeline_layout_version": "2",
            "hoodie_record_merge_mode": "EVENT_TIME_ORDERING",
            "hoodie_compaction_payload_class": "",
        }
        made = cls.make(path, **{**own, **properties})
        (path / ".hoodie" / "timeline").mkdir()
        return cls(made.path, is_later=True)

    def instant(
        self, time: str, action: str = "deltacommit", body: str = "{}", ended: str = ""
    ) -> None:
        """A file of the timeline: ``action`` is what follows the time in its name."""
        folder = self.path / ".hoodie" / ("timeline" if self.is_later else "")
        end = f"_{moment(ended or time)}" if self.is_later and "." not in action else ""
        (folder / f"{moment(time)}{end}.{action}").write_text(body)

    def commits(self, times: str) -> None:
        """Completed writes, of which each character is one."""
        for time in times:
            self.instant(time)

    def base(
        self, group: str, instant: str, rows: Sequence[dict[str, Any]], *, group_rows: int = 2
    ) -> Path:
        """A base file with row groups of two rows."""
        path = self.path / f"{group}_0-0-0_{moment(instant)}.parquet"
        pq.write_table(pa.Table.from_pylist(rows, ARROW), path, row_group_size=group_rows)
        return path

    def log(self, group: str, base_instant: str, *blocks: bytes, version: int = 1) -> Path:
        """A log file of some blocks."""
        path = self.path / f".{group}_{moment(base_instant)}.log.{version}_0-0-0"
        path.write_bytes(b"".join(blocks))
        return path
