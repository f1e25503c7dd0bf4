"""Checks of a whole table by real Hudi: what it reads, what its files say, whether it can go on."""

import collections
import shutil
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pyarrow.compute as pc
import pyarrow.parquet as pq

from tests.interop import hudi_tables as tables
from tests.interop import hudi_writes as writes
from tests.interop.hudi_tables import META_COLUMNS, Hudi, Json
from tests.interop.rows import difference, rows_of, user_columns

BLOOM_KEY = b"org.apache.hudi.bloomfilter"
BLOOM_TYPE_KEY = b"hoodie_bloom_filter_type_code"
MIN_KEY, MAX_KEY = b"hoodie_min_record_key", b"hoodie_max_record_key"
KEYS_ASKED_PER_FILE = 300


class WrongError(Exception):
    """A check failed; the text says how."""


@dataclass(frozen=True)
class Validation:
    """One table under validation."""

    hudi: Hudi
    table: str
    scratch: str
    allow_duplicates: bool
    known: dict[str, Any] = field(default_factory=dict)

    @property
    def root(self) -> Path:
        """The table's folder."""
        return Path(self.table)

    def read(self, table: str | None = None, *, metadata: bool = False) -> list[Json]:
        """All rows as Hudi reads them."""
        frame = tables.frame(self.hudi, table or self.table, metadata=metadata)
        return rows_of(tables.fetch(frame, f"{self.scratch}/read"))

    def rows(self) -> list[Json]:
        """The snapshot without the metadata table, read once."""
        if "rows" not in self.known:
            self.known["rows"] = self.read()
        return self.known["rows"]

    def slices(self) -> list[Json]:
        """The latest file slices, asked once."""
        if "slices" not in self.known:
            self.known["slices"] = tables.slices(self.hudi, self.table)
        return self.known["slices"]

    def base_files(self) -> list[Path]:
        """The latest base files."""
        return [self.root / s["partition"] / s["base_file"] for s in self.slices()]


def validate(
    hudi: Hudi, table: str, scratch: str, *, exercise: bool, allow_duplicates: bool
) -> list[Json]:
    """Run every check; answer one entry per check: name, ok, detail."""
    this = Validation(hudi, table, scratch, allow_duplicates)
    checks: list[Callable[[Validation], str]] = [
        metadata_table_changes_no_row,
        record_keys_are_unique,
        every_base_file_is_listed,
        meta_columns_agree_with_their_file,
        footers_hold_the_keys,
        partitions_are_marked,
        write_stats_agree_with_files,
        schema_agrees_with_rows,
        no_trace_of_the_write_is_left,
    ]
    if exercise:
        checks.append(hudi_can_go_on)
    return [_run(check, this) for check in checks]


def _run(check: Callable[[Validation], str], this: Validation) -> Json:
    name = check.__name__.replace("_", " ")
    try:
        return {"check": name, "ok": True, "detail": check(this)}
    except WrongError as wrong:
        return {"check": name, "ok": False, "detail": str(wrong)}
    except Exception as error:  # noqa: BLE001 - any Java error is a finding about the table
        return {"check": name, "ok": False, "detail": tables.causes(error)}


def _require(condition: object, message: str) -> None:
    if not condition:
        raise WrongError(message)


def metadata_table_changes_no_row(this: Validation) -> str:
    """The snapshot is the same with the metadata table on and off."""
    told = difference(this.read(metadata=True), this.rows())
    _require(not told, f"metadata table on against off: {told}")
    return f"{len(this.rows())} rows"


def record_keys_are_unique(this: Validation) -> str:
    """No key occurs twice in a partition."""
    keys = [(r["_hoodie_partition_path"], r["_hoodie_record_key"]) for r in this.rows()]
    _require(all(key for _, key in keys), "rows without a record key")
    twice = [key for key, count in collections.Counter(keys).items() if count > 1]
    _require(this.allow_duplicates or not twice, f"{len(twice)} keys occur twice: {twice[:3]}")
    return f"{len(keys)} keys"


def every_base_file_is_listed(this: Validation) -> str:
    """Rows come from exactly the files of the latest view that hold rows, and those exist.

    Rows of log files name their file group, and may be all that is left of one.
    """
    seen = {(r["_hoodie_partition_path"], r["_hoodie_file_name"]) for r in this.rows()}
    listed = set()
    for slice_, path in zip(this.slices(), this.base_files(), strict=True):
        _require(path.exists(), f"{path} is in the view and not on disk")
        if slice_["log_files"]:
            group, base = ((slice_["partition"], slice_[n]) for n in ("file_id", "base_file"))
            listed |= seen & {group, base}
        elif pq.read_metadata(path).num_rows:
            listed.add((slice_["partition"], slice_["base_file"]))
    _require(seen == listed, f"rows name {seen - listed}, the view has {listed - seen} beside")
    return f"{len(listed)} base files"


def meta_columns_agree_with_their_file(this: Validation) -> str:
    """In each file the meta columns name the file, its partition, and an instant up to its own."""
    for slice_, path in zip(this.slices(), this.base_files(), strict=True):
        part = pq.read_table(path, columns=list(META_COLUMNS), partitioning=None)
        times, seqnos, _keys, partitions, names = (part.column(n) for n in META_COLUMNS)
        nulls = sum(column.null_count for column in part.columns)
        _require(not nulls, f"{path}: {nulls} nulls in meta columns")
        _require(set(pc.unique(names).to_pylist()) <= {path.name}, f"{path}: file names {names}")
        folders = set(pc.unique(partitions).to_pylist())
        _require(folders <= {slice_["partition"]}, f"{path}: partition paths {folders}")
        own = path.name.rsplit("_", 1)[1].split(".")[0]
        later = [t for t in pc.unique(times).to_pylist() if t > own]
        _require(not later, f"{path}: rows of later instants {later}")
        same = pc.equal(pc.replace_substring_regex(seqnos, "_.*", ""), times)
        _require(pc.all(same).as_py() is not False, f"{path}: seqnos of other instants")
        _require(pc.count_distinct(seqnos).as_py() == len(seqnos), f"{path}: repeated seqno")
    return f"{len(this.slices())} files"


def footers_hold_the_keys(this: Validation) -> str:
    """Hudi's bloom filter finds every key of the file; the smallest and largest key are right."""
    asked = 0
    for path in this.base_files():
        footer = pq.read_metadata(path).metadata or {}
        keys = pq.read_table(path, columns=["_hoodie_record_key"], partitioning=None)
        held = keys.column(0).to_pylist()
        for name in (BLOOM_KEY, *((MIN_KEY, MAX_KEY) if held else ())):
            _require(name in footer, f"{path}: footer lacks {name.decode()}")
        code = footer.get(BLOOM_TYPE_KEY, b"SIMPLE").decode()
        factory = this.hudi.apache.common.bloom.BloomFilterFactory
        bloom = factory.fromString(footer[BLOOM_KEY].decode(), code)
        step = max(1, len(held) // KEYS_ASKED_PER_FILE)
        lost = [key for key in held[::step] if not bloom.mightContain(key)]
        _require(not lost, f"{path}: the bloom filter misses {lost[:3]}")
        strangers = sum(bloom.mightContain(f"no such key {i}") for i in range(20))
        _require(strangers <= 2, f"{path}: the bloom filter knows {strangers} of 20 unknown keys")
        if held:
            _require_range(path, held, footer[MIN_KEY].decode(), footer[MAX_KEY].decode())
        asked += len(held[::step])
    return f"{asked} keys asked"


def _require_range(path: Path, keys: list[str], low: str, high: str) -> None:
    # Java compares UTF-16 units in one writer and UTF-8 bytes in the other: both are Hudi's.
    orders = (str.encode, lambda key: key.encode("utf-16-be"))
    lows, highs = {min(keys, key=o) for o in orders}, {max(keys, key=o) for o in orders}
    fits = low in lows and high in highs
    _require(fits, f"{path}: range {low!r}..{high!r} is not {lows}..{highs}")


def partitions_are_marked(this: Validation) -> str:
    """Each partition has its metadata file, with the right depth and a real instant."""
    files = (p for p in this.root.rglob("*.parquet") if ".hoodie" not in p.parts)
    found = {p.parent.relative_to(this.root).as_posix() for p in files}
    for partition in ("" if folder == "." else folder for folder in found):
        marker = this.root / partition / ".hoodie_partition_metadata"
        _require(marker.exists(), f"{marker} is not there")
        pairs = (line.split("=", 1) for line in marker.read_text().splitlines() if "=" in line)
        lines = dict(pairs)
        depth = len(partition.split("/")) if partition else 0
        _require(lines.get("partitionDepth") == str(depth), f"{marker}: {lines}, depth is {depth}")
        _require(lines.get("commitTime", "").isdigit(), f"{marker}: {lines}")
    return f"{len(found)} partitions"


def write_stats_agree_with_files(this: Validation) -> str:
    """Each completed commit's statistics, parsed by Hudi, agree with its files and row counts."""
    counted = 0
    commits = tables.commit_metadata(this.hudi, this.table)
    for instant, body in commits.items():
        _require(body.getMetadata("schema"), f"{instant}: no schema")
        moves_rows = body.getOperationType().toString() in ("CLUSTER", "BOOTSTRAP", "COMPACT")
        for partition in body.getPartitionToWriteStats().entrySet():
            for stat in partition.getValue():
                _check_stat(this.root, instant, partition.getKey(), stat)
                if not moves_rows:
                    _check_inserts(this.root, instant, stat)
                counted += 1
    return f"{counted} write stats of {len(commits)} commits"


def _check_stat(root: Path, instant: str, partition: str, stat: Any) -> None:
    path = root / stat.getPath()
    _require(stat.getPartitionPath() == partition, f"{instant}: {stat.getPath()} in {partition}")
    is_log = path.name.startswith(".")
    named = path.name.removeprefix(".").startswith(stat.getFileId() + "_")
    _require(named, f"{instant}: {path} of {stat.getFileId()}")
    if not path.exists():  # cleaned
        return
    size = path.stat().st_size
    rows = stat.getNumWrites() if is_log else pq.read_metadata(path).num_rows
    told = (stat.getFileSizeInBytes(), stat.getTotalWriteBytes(), stat.getNumWrites())
    _require(told == (size, size, rows), f"{instant}: {path.name} {told}, is {(size, size, rows)}")


def _check_inserts(root: Path, instant: str, stat: Any) -> None:
    """In a new file group every row is an insert of the instant."""
    path = root / stat.getPath()
    if stat.getPrevCommit() not in (None, "null") or not path.exists():
        return
    written = pq.read_table(path, columns=["_hoodie_commit_time"], partitioning=None).column(0)
    own = pc.sum(pc.equal(written, instant)).as_py() or 0
    inserts = stat.getNumInserts()
    _require(inserts == own, f"{instant}: {path.name} says {inserts} inserts, holds {own}")


def schema_agrees_with_rows(this: Validation) -> str:
    """The resolved Avro schema has the columns of the rows read."""
    told = tables.schema(this.hudi, this.table)
    names = [f.name() for f in this.hudi.table_schema(this.table).getFields()]
    read = [f["name"] for f in told["spark"]["fields"] if f["name"] not in META_COLUMNS]
    _require(sorted(names) == sorted(read), f"schema has {names}, rows have {read}")
    return f"{len(names)} columns"


def no_trace_of_the_write_is_left(this: Validation) -> str:
    """Markers, heartbeats and temporary files of completed instants are gone."""
    meta = this.root / ".hoodie"
    instants = tables.timeline(this.hudi, this.table)
    done = {e["requested"] for e in instants if e["state"] == "COMPLETED"}
    for folder in (meta / ".temp", meta / ".heartbeat"):
        left = sorted(p.name for p in folder.iterdir()) if folder.exists() else []
        _require(not done.intersection(left), f"{folder} still holds {left}")
    return f"{len(done)} completed instants"


def hudi_can_go_on(this: Validation) -> str:
    """On a copy Hudi upserts, deletes and cleans; the rows follow, and nothing else changes."""
    copy = f"{this.scratch}/copy"
    shutil.rmtree(copy, ignore_errors=True)
    shutil.copytree(this.table, copy)
    rows = this.rows()
    if not rows:
        return "no rows to exercise"
    touched = _one_row_of_each_file(this, f"{this.scratch}/touched")
    frame = this.hudi.spark.read.schema(_user_schema(this)).parquet(touched)
    writes.write(this.hudi, copy, frame, "upsert")
    after = this.read(copy)
    told = difference(user_columns(after), user_columns(rows))
    _require(not told, f"after upserting {frame.count()} unchanged rows: {told}")
    _require(_keys(after) == _keys(rows), "record keys or partition paths changed in an upsert")
    writes.write(this.hudi, copy, frame, "delete")
    gone = rows_of(pq.read_table(touched))
    left = difference(user_columns(this.read(copy)), _without(user_columns(rows), gone))
    _require(not left, f"after deleting {len(gone)} rows: {left}")
    instant = writes.clean(this.hudi, copy)
    told = difference(user_columns(this.read(copy)), _without(user_columns(rows), gone))
    _require(not told, f"after cleaning: {told}")
    return f"{len(gone)} rows upserted and deleted, cleaned by {instant}"


def _keys(rows: Iterable[Json]) -> collections.Counter[tuple[str, str]]:
    return collections.Counter((r["_hoodie_partition_path"], r["_hoodie_record_key"]) for r in rows)


def _user_schema(this: Validation) -> Any:
    schema = tables.frame(this.hudi, this.table).schema
    return type(schema)([f for f in schema.fields if f.name not in META_COLUMNS])


def _one_row_of_each_file(this: Validation, output: str) -> str:
    """Save the first row that Hudi reads of each base file, so that each is merged once."""
    frame = tables.frame(this.hudi, this.table, metadata=False)
    firsts = frame.dropDuplicates(["_hoodie_partition_path", "_hoodie_file_name"])
    tables.save(firsts.select(*_user_schema(this).fieldNames()), output)
    return output


def _without(rows: list[Json], gone: list[Json]) -> list[Json]:
    left = list(rows)
    for row in gone:
        left.remove(row)
    return left
