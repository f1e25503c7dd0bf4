"""Random kinds of table: what they hold, how they are keyed, cut up, merged and searched."""

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from random import Random

import pyarrow as pa

from tests.interop.differential_rows import (
    COLUMNS,
    KEY_COLUMNS,
    ORDERING_COLUMNS,
    PARTITION_COLUMNS,
)
from tests.interop.differential_services import ONLY_WHEN_ASKED, Bounds, Retention, draw_retention

WRITE = "hoodie.datasource.write."
MODEL = "org.apache.hudi.common.model."
EVENT_TIME = f"{MODEL}DefaultHoodieRecordPayload"
COMMIT_TIME = f"{MODEL}OverwriteWithLatestAvroPayload"
SOFT_DELETE = "_hoodie_is_deleted"

# PYHUDI_KINDS=all draws all that is there, and not just what has been compared over many seeds.
EVERY_KIND = os.environ.get("PYHUDI_KINDS") == "all"
PAYLOADS = (EVENT_TIME, EVENT_TIME, COMMIT_TIME)
INDEXES: tuple[str, ...] = ("SIMPLE",)
if EVERY_KIND:
    MORE = ("PartialUpdateAvroPayload", "OverwriteNonDefaultsWithLatestAvroPayload")
    PAYLOADS += (*PAYLOADS, *(f"{MODEL}{name}" for name in MORE))
    INDEXES += ("SIMPLE", "BLOOM", "GLOBAL_SIMPLE", "GLOBAL_BLOOM", "BUCKET")


@dataclass(frozen=True)
class Shape:
    """A kind of table. ``creation`` are options of its first write, ``always`` of every one.

    Where ``is_forgetful``, later writes leave ``creation`` out: the table knows it itself.
    """

    version: str
    schema: pa.Schema
    keys: tuple[str, ...]
    partitions: tuple[str, ...]
    ordering: str | None
    creation: Mapping[str, str]
    always: Mapping[str, str]
    is_forgetful: bool
    retention: Retention | None = None
    """What each write cleans and archives by; None where none does."""
    bootstrap: Mapping[str, str] | None = None
    """Options of the bootstrap that makes the table; None where the first write does."""

    @property
    def is_global(self) -> bool:
        """Whether a key is looked for in every partition."""
        return self.always["hoodie.index.type"].startswith("GLOBAL_")

    @property
    def has_rivals(self) -> bool:
        """Whether a batch may hold a key twice; see known_differences.NOT_DRAWN."""
        return self.ordering is not None and not (self._is_by_commit and self.version != "0.15.0")

    @property
    def has_late_rows(self) -> bool:
        """Whether a row may be older than the stored one; see known_differences.NOT_DRAWN."""
        return not (self.keeps_logs and self._is_by_commit and self.version == "0.15.0")

    @property
    def _is_by_commit(self) -> bool:
        return self.creation.get(f"{WRITE}payload.class") == COMMIT_TIME

    @property
    def keeps_late_rows(self) -> bool:
        """Whether what changed lately can be older than what was there: logs alone are read."""
        return self.keeps_logs and self.ordering is not None and not self._is_by_commit

    @property
    def keeps_logs(self) -> bool:
        """Whether updates are appended to log files."""
        return self.creation.get(f"{WRITE}table.type") == "MERGE_ON_READ"

    @property
    def bounds(self) -> Bounds:
        """Which services the table may have."""
        runs = ("hoodie.compact.inline", "hoodie.log.compaction.inline")
        asked = [self.always.get(name) == "true" for name in runs]
        is_old = self.version == "0.15.0"
        return Bounds(
            self.retention, 1 + sum(asked), self.keeps_logs, is_old, is_old or not asked[1]
        )

    @property
    def is_hive_style(self) -> bool:
        """Whether partition folders are named field=value."""
        return self.creation.get(f"{WRITE}hive_style_partitioning") == "true"

    def __str__(self) -> str:
        columns = ", ".join(f"{f.name} {f.type}" for f in self.schema)
        options = {**self.creation, **self.always, **(self.bootstrap or {})}
        lines = (f"  {key}={value}" for key, value in options.items())
        forgetful = ", the first ones only for the first write" if self.is_forgetful else ""
        return "\n".join((f"columns: {columns}", f"options{forgetful}:", *lines))


def draw_shape(rng: Random, version: str) -> Shape:
    """A table that real Hudi of that version can write."""
    keys = _draw_keys(rng)
    partitions = tuple(rng.sample(tuple(PARTITION_COLUMNS), rng.choice((0, 1, 1, 1, 2))))
    has_ordering = version == "0.15.0" or rng.random() < 0.8
    # See known_differences.NOT_DRAWN.
    orderings = [name for name in ORDERING_COLUMNS if version == "0.15.0" or name != "on"]
    ordering = rng.choice(orderings) if has_ordering else None
    creation = _creation(rng, version, keys, partitions, ordering)
    # 0.15 records no payload class in a copy-on-write table.
    is_forgetful = version != "0.15.0" and rng.random() < 0.5
    schema = _schema(rng, keys, partitions, ordering)
    return Shape(version, schema, keys, partitions, ordering, creation, _always(rng), is_forgetful)


def with_logs(rng: Random, shape: Shape) -> Shape:
    """The same table, or with logs: updates appended, and compacted by whoever writes."""
    if rng.random() < 0.5:
        return shape
    creation = {**shape.creation, f"{WRITE}table.type": "MERGE_ON_READ"}
    blocks = rng.choice(("avro", "avro", "parquet"))
    # See known_differences.NOT_DRAWN.
    is_failing = shape.version != "0.15.0" and shape.ordering == "stamp"
    always = {
        **shape.always,
        "hoodie.logfile.data.block.format": "avro" if is_failing else blocks,
    }
    if rng.random() < 0.8:
        always["hoodie.compact.inline"] = "true"
        always["hoodie.compact.inline.max.delta.commits"] = rng.choice(("1", "2", "4"))
    if rng.random() < 0.5:
        always["hoodie.parquet.small.file.limit"] = "0"
    if rng.random() < 0.3:
        always["hoodie.logfile.data.block.max.size"] = "300"
        always["hoodie.logfile.max.size"] = "2000"
    return replace(shape, creation=creation, always=always)


def with_log_compactions(rng: Random, shape: Shape) -> Shape:
    """The same table, or one whose log files whoever writes makes one of, now and then."""
    if not shape.keeps_logs or rng.random() < 0.6:
        return shape
    more = {
        "hoodie.log.compaction.inline": "true",
        "hoodie.log.compaction.blocks.threshold": rng.choice(("2", "3", "5")),
    }
    return replace(shape, always={**shape.always, **more})


def with_retention(rng: Random, shape: Shape) -> Shape:
    """The same table, cleaned and archived by whoever writes, or only where a step does it."""
    found = draw_retention(rng) if rng.random() < 0.6 else None
    more = found.options if found else ONLY_WHEN_ASKED
    return replace(shape, always={**shape.always, **more}, retention=found)


def _draw_keys(rng: Random) -> tuple[str, ...]:
    if rng.random() < 0.65:
        return (rng.choice(("id", "id", "number", "line", "day", "amount")),)
    return tuple(rng.sample(tuple(KEY_COLUMNS), rng.choice((2, 2, 3))))


def _schema(
    rng: Random, keys: tuple[str, ...], partitions: tuple[str, ...], ordering: str | None
) -> pa.Schema:
    fields = [pa.field(name, KEY_COLUMNS[name][0]) for name in keys]
    fields += [pa.field(name, PARTITION_COLUMNS[name][0]) for name in partitions]
    fields += [pa.field(ordering, ORDERING_COLUMNS[ordering][0])] if ordering else []
    data = rng.sample(tuple(COLUMNS), rng.randint(1, 6))
    fields += [pa.field(name, COLUMNS[name][0]) for name in data]
    rng.shuffle(fields)
    if EVERY_KIND and rng.random() < 0.3:
        fields.append(pa.field(SOFT_DELETE, pa.bool_()))
    return pa.schema(fields)


def _creation(
    rng: Random,
    version: str,
    keys: tuple[str, ...],
    partitions: tuple[str, ...],
    ordering: str | None,
) -> dict[str, str]:
    options = {
        "hoodie.table.name": "differential",
        f"{WRITE}recordkey.field": ",".join(keys),
        f"{WRITE}partitionpath.field": ",".join(partitions),
        "hoodie.write.table.version": "6",
        "hoodie.write.auto.upgrade": "false",
    }
    if len(keys) == 1 and len(partitions) > 1:
        # 1.1 refuses the complex generator with one key column without this.
        options["hoodie.write.complex.keygen.validation.enable"] = "false"
        encoding = rng.choice(("true", "false"))
        # 0.15 has one encoding, which is the new one.
        options["hoodie.write.complex.keygen.new.encoding"] = (
            "true" if version == "0.15.0" else encoding
        )
    if ordering:
        options[f"{WRITE}precombine.field"] = ordering
        options[f"{WRITE}payload.class"] = rng.choice(PAYLOADS)
    if partitions:
        options[f"{WRITE}hive_style_partitioning"] = rng.choice(("true", "false"))
        is_odd = "odd" in partitions or rng.random() < 0.3
        options[f"{WRITE}partitionpath.urlencode"] = "true" if is_odd else "false"
    return options


def _always(rng: Random) -> dict[str, str]:
    index = rng.choice(INDEXES)
    options = {
        "hoodie.metadata.enable": "false",
        "hoodie.index.type": index,
        # Hudi commits deletes that find no row, and we if asked.
        "hoodie.allow.empty.commit": "true",
    }
    if index.startswith("GLOBAL_"):
        kind = index.removeprefix("GLOBAL_").lower()
        moves = rng.choice(("true", "true", "false"))
        options[f"hoodie.{kind}.index.update.partition.path"] = moves
    if index == "BUCKET":
        options["hoodie.bucket.index.num.buckets"] = str(rng.randint(1, 5))
    if rng.random() < 0.3:
        options["hoodie.parquet.small.file.limit"] = "0"
    if rng.random() < 0.3:
        options["hoodie.copyonwrite.insert.auto.split"] = "false"
        options["hoodie.copyonwrite.insert.split.size"] = str(rng.randint(2, 12))
    return options
