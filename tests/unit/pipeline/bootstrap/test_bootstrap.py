"""Bootstraps in this process: what they leave, and what they refuse."""

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import pyhudi
from pyhudi.actions.commit import CommitMetadata
from pyhudi.basefile.footer import read_footer
from pyhudi.config.formats import BaseFileFormat
from pyhudi.config.properties import parse
from pyhudi.errors import (
    HudiError,
    MissingSourceError,
    OptionError,
    RecordKeyError,
    RequestError,
    SchemaError,
    SourceError,
    UnsupportedError,
)
from pyhudi.jobs.result import JobResult
from pyhudi.pipeline.bootstrap.bootstrap import bootstrap_table
from pyhudi.pipeline.environment import environment_on
from pyhudi.runner.in_process import InProcessRunner
from pyhudi.schema.metafields import META_FIELDS
from pyhudi.storage.schemes import open_storage
from pyhudi.table.bootstrap_index import read_bootstrap_index
from pyhudi.table.result_line import mode_table, result_line
from pyhudi.table.table import open_table
from tests.support.datasets import (
    FULL_RECORD,
    MIXED,
    PARTS,
    SMALL_BLOOMS,
    bootstrap,
    dataset,
    file_bytes,
    lay_out,
    people,
    request_of,
)
from tests.support.object_store import StoreServer
from tests.support.tree import tree

MERGE_ON_READ = {"hoodie.datasource.write.table.type": "MERGE_ON_READ"}


@pytest.fixture
def source(tmp_path: Path) -> Path:
    return lay_out(tmp_path / "source", dataset())


def properties(table: Path) -> dict[str, str]:
    return parse((table / ".hoodie/hoodie.properties").read_text("latin-1"))


def commit(table: Path, name: str) -> CommitMetadata:
    return CommitMetadata.from_bytes((table / ".hoodie" / name).read_bytes())


def hashes(folder: Path) -> dict[str, str]:
    files = (path for path in folder.rglob("*") if path.is_file())
    return {str(path): hashlib.sha256(path.read_bytes()).hexdigest() for path in files}


def test_each_source_file_gets_a_skeleton_of_its_rows_in_their_order(
    tmp_path: Path, source: Path
) -> None:
    before = hashes(source)
    result = bootstrap(tmp_path / "table", source)
    assert (result.status, result.instant) == ("committed", "00000000000001")
    assert result.records["inserted"] == 30
    assert result.partitions == tuple(f"part={part}" for part in PARTS)
    index = read_bootstrap_index(open_storage(str(tmp_path / "table")))
    assert index is not None
    assert index.source_base_path == f"file:{source}"
    found = open_table(tmp_path / "table").latest_base_files()
    assert len(found) == 6
    for file in found:
        assert "-0" not in file.file_id[36:], "the file id of a skeleton is bare"
        at = index.source_of(file.partition, file.file_id)
        assert at is not None
        rows = pq.read_table(at.path.removeprefix("file:"), partitioning=None)
        skeleton = pq.read_table(tmp_path / "table" / file.path, partitioning=None)
        assert skeleton.schema.names == list(META_FIELDS)
        assert skeleton["_hoodie_record_key"].to_pylist() == rows["id"].to_pylist()
        assert set(skeleton["_hoodie_commit_time"].to_pylist()) == {"00000000000001"}
        assert set(skeleton["_hoodie_partition_path"].to_pylist()) == {file.partition}
        assert set(skeleton["_hoodie_file_name"].to_pylist()) == {file.name}
        seqnos = skeleton["_hoodie_commit_seqno"].to_pylist()
        task = file.name.split("_")[1].split("-")[0]
        assert seqnos == [f"00000000000001_{task}_{n}" for n in range(rows.num_rows)]
        footer = read_footer(pq.read_metadata(tmp_path / "table" / file.path).metadata)
        assert (footer.min_key, footer.max_key) == (rows["id"][0].as_py(), rows["id"][-1].as_py())
        assert footer.bloom_text
        assert at.size_bytes == Path(at.path.removeprefix("file:")).stat().st_size
    assert hashes(source) == before


def test_the_instant_says_what_hudis_says(tmp_path: Path, source: Path) -> None:
    bootstrap(tmp_path / "table", source)
    said = commit(tmp_path / "table", "00000000000001.commit")
    assert said.operation_type == "BOOTSTRAP"
    schema = json.loads(said.schema_text or "")
    assert schema["name"] == "people_record"
    assert [field["name"] for field in schema["fields"]] == ["id", "ts", "score", "part"]
    assert schema["fields"][-1]["type"] == ["null", "string"]
    assert {stat.num_inserts for stat in said.write_stats} == {5}
    assert {stat.prev_commit for stat in said.write_stats} == {"null"}
    for name in ("00000000000001.commit.requested", "00000000000001.inflight"):
        assert (tmp_path / "table/.hoodie" / name).read_bytes() == b""


@pytest.mark.parametrize("version", ["8", "9"])
def test_tables_of_later_versions_name_their_index_as_hudi_s_do(
    tmp_path: Path, source: Path, version: str
) -> None:
    done = bootstrap(tmp_path / "table", source, {"hoodie.write.table.version": version})
    found = properties(tmp_path / "table")
    named = {key for key in found if key.startswith("hoodie.bootstrap.")}
    assert named == {"hoodie.bootstrap.base.path", "hoodie.bootstrap.index.type"}
    assert found["hoodie.bootstrap.index.type"] == "HFILE"
    (ended,) = (tmp_path / "table/.hoodie/timeline").glob("00000000000001_*.commit")
    assert ended.stem == f"00000000000001_{done.completion_time}"


def test_the_table_notes_its_source_and_what_the_folders_say(tmp_path: Path, source: Path) -> None:
    bootstrap(tmp_path / "table", source)
    found = properties(tmp_path / "table")
    assert found["hoodie.bootstrap.base.path"] == f"file:{source}"
    assert found["hoodie.bootstrap.index.class"].endswith("HFileBootstrapIndex")
    assert found["hoodie.table.partition.fields"] == "part"
    assert found["hoodie.datasource.write.hive_style_partitioning"] == "true"
    assert found["hoodie.table.keygenerator.class"].endswith("SimpleKeyGenerator")


def test_rows_are_written_at_the_second_instant(tmp_path: Path, source: Path) -> None:
    result = bootstrap(tmp_path / "table", source, FULL_RECORD)
    assert (result.status, result.instant) == ("committed", "00000000000002")
    said = commit(tmp_path / "table", "00000000000002.commit")
    assert said.operation_type == "BULK_INSERT"
    assert read_bootstrap_index(open_storage(str(tmp_path / "table"))) is None
    rows = []
    for file in open_table(tmp_path / "table").latest_base_files():
        part = pq.read_table(tmp_path / "table" / file.path, partitioning=None)
        assert {f"part={p}" for p in part["part"].to_pylist()} == {file.partition}
        rows += part.select(["id", "ts", "score"]).to_pylist()
    assert sorted(rows, key=lambda row: row["id"]) == people(0, 30).to_pylist()


@pytest.mark.parametrize("kind", BaseFileFormat, ids=lambda kind: kind.value)
@pytest.mark.parametrize("more", [{}, MERGE_ON_READ], ids=["rewritten", "logged"])
def test_a_pattern_chooses_the_mode_of_each_partition(
    tmp_path: Path, kind: BaseFileFormat, more: dict[str, str]
) -> None:
    source = lay_out(tmp_path / "source", dataset(kind))
    result = bootstrap(
        tmp_path / "table", source, {**MIXED, **more}, source_format=kind.value.lower()
    )
    assert (result.status, result.instant) == ("committed", "00000000000002")
    assert result.records["inserted"] == 30
    action = "deltacommit" if more else "commit"
    first = commit(tmp_path / "table", f"00000000000001.{action}")
    second = commit(tmp_path / "table", f"00000000000002.{action}")
    assert set(first.partition_to_write_stats) == {"part=north"}
    assert set(second.partition_to_write_stats) == {"part=south", "part=west"}
    index = read_bootstrap_index(open_storage(str(tmp_path / "table")))
    assert index is not None
    assert set(index.partitions) == {"part=north"}
    other = {**MIXED, "hoodie.bootstrap.mode.selector.regex.mode": "FULL_RECORD"}
    bootstrap(tmp_path / "other", source, {**other, **more}, source_format=kind.value.lower())
    first = commit(tmp_path / "other", f"00000000000001.{action}")
    assert set(first.partition_to_write_stats) == {"part=south", "part=west"}


def test_skeletons_are_next_to_nothing_beside_their_source(tmp_path: Path) -> None:
    rows = people(0, 20_000).append_column("text", pa.array([f"{n:0200d}" for n in range(20_000)]))
    source = lay_out(tmp_path / "source", {"a.parquet": file_bytes(rows)})
    default = dict.fromkeys(SMALL_BLOOMS, "60000")
    result = bootstrap(tmp_path / "table", source, default)
    assert result.bytes_written < (source / "a.parquet").stat().st_size / 8
    few = lay_out(tmp_path / "few", {"a.parquet": file_bytes(people(0, 3))})
    small = bootstrap(tmp_path / "small", few, dict.fromkeys(SMALL_BLOOMS, "60000"))
    assert small.bytes_written < 10_000


def test_rows_are_written_into_buckets(tmp_path: Path, source: Path) -> None:
    buckets = {"hoodie.index.type": "BUCKET", "hoodie.bucket.index.num.buckets": "2"}
    result = bootstrap(tmp_path / "table", source, {**FULL_RECORD, **buckets})
    assert result.records["inserted"] == 30
    found = open_table(tmp_path / "table").latest_base_files()
    assert {file.file_id[:8] for file in found} <= {"00000000", "00000001"}


def test_a_dataset_without_folders_is_a_table_without_partitions(tmp_path: Path) -> None:
    source = lay_out(tmp_path / "source", {"a.parquet": file_bytes(people(0, 3))})
    result = bootstrap(tmp_path / "table", source)
    assert result.partitions == ("",)
    assert properties(tmp_path / "table")["hoodie.table.partition.fields"] == ""


def test_folders_of_plain_values_are_partitions_by_the_columns_named(tmp_path: Path) -> None:
    files = {f"{part}/a.parquet": file_bytes(people(n * 5, 5)) for n, part in enumerate(PARTS)}
    source = lay_out(tmp_path / "source", files)
    result = bootstrap(tmp_path / "table", source, partition_path="part")
    assert result.partitions == PARTS
    assert open_table(tmp_path / "table").schema().names[-1] == "part"


@pytest.mark.parametrize("hive", ["", "part="], ids=["plain", "hive"])
def test_rows_without_a_partition_value_are_taken_over(tmp_path: Path, hive: str) -> None:
    files = {
        f"{hive}{part}/a.parquet": file_bytes(people(n * 5, 5))
        for n, part in enumerate(("north", "__HIVE_DEFAULT_PARTITION__"))
    }
    files["_temporary/b.parquet"] = file_bytes(people(20, 5))
    source = lay_out(tmp_path / "source", files)
    result = bootstrap(tmp_path / "table", source, partition_path="part")
    assert result.records["inserted"] == 10
    rows = pyhudi.read_table(tmp_path / "table", columns=["id", "part"]).to_pylist()
    assert {row["id"] for row in rows if row["part"] is None} == {f"k000{n}" for n in range(5, 10)}


def test_a_file_of_no_rows_has_a_skeleton_of_none(tmp_path: Path) -> None:
    files = {"a.parquet": file_bytes(people(0, 0)), "b.parquet": file_bytes(people(0, 2))}
    source = lay_out(tmp_path / "source", files)
    result = bootstrap(tmp_path / "table", source)
    assert (result.records["inserted"], result.files["created"]) == (2, 2)


def test_a_bootstrap_that_only_looks_leaves_nothing_and_tells_each_partition(
    tmp_path: Path, source: Path
) -> None:
    result = bootstrap(tmp_path / "table", source, MIXED, dry_run=True)
    assert (result.status, result.files["skeletons"]) == ("planned", 2)
    assert result.by_partition["part=north"]["mode"] == "METADATA_ONLY"
    assert result.by_partition["part=west"] == {
        "mode": "FULL_RECORD",
        "files": 2,
        "bytes": sum(path.stat().st_size for path in (source / "part=west").iterdir()),
        "rows": 10,
        "writes": "files with 10 rows",
    }
    assert not (tmp_path / "table").exists()
    lines = mode_table(result).splitlines()
    assert len(lines) == 4
    assert lines[1].split()[:4] == ["part=north", "METADATA_ONLY", "2", "10"]
    assert lines[1].endswith("2 skeletons with the keys of 10 rows")
    assert "would take 6 files" in result_line(result)


def test_rows_of_other_save_modes_stay_or_go_as_these_say(tmp_path: Path, source: Path) -> None:
    table = tmp_path / "table"
    bootstrap(table, source)
    before = tree(table)
    with pytest.raises(RequestError, match="timeline of the table people is not empty"):
        bootstrap(table, source)
    with pytest.raises(RequestError, match="there is a table people already"):
        bootstrap(table, source, save_mode="errorifexists")
    assert bootstrap(table, source, save_mode="ignore").status == "nothing_to_do"
    assert tree(table) == before
    (source / "part=west/f1.parquet").unlink()
    again = bootstrap(table, source, {**FULL_RECORD}, save_mode="overwrite")
    assert (again.status, again.instant) == ("committed", "00000000000002")
    assert again.records["inserted"] == 25
    assert not (table / ".hoodie/00000000000001.commit").exists()
    assert {file.instant for file in open_table(table).latest_base_files()} == {"00000000000002"}


def test_what_is_wrong_leaves_the_table_to_be_overwritten(tmp_path: Path, source: Path) -> None:
    table = tmp_path / "table"
    bootstrap(table, source)
    before = tree(table)
    (source / "part=west/f1.parquet").write_bytes(b"PAR1 and no more")
    with pytest.raises(SourceError, match=r"part=west/f1\.parquet"):
        bootstrap(table, source, save_mode="overwrite")
    assert tree(table) == before


def test_a_retry_finds_what_an_earlier_try_has_done(tmp_path: Path, source: Path) -> None:
    first = bootstrap(tmp_path / "table", source, MIXED, idempotency_key="run-1")
    again = bootstrap(tmp_path / "table", source, MIXED, idempotency_key="run-1")
    assert (again.status, again.instant) == ("already_committed", first.instant)
    over = bootstrap(tmp_path / "table", source, idempotency_key="run-1", save_mode="overwrite")
    assert over.status == "already_committed"


def test_a_bootstrap_of_the_same_slot_stands_for_another_request(
    tmp_path: Path, source: Path
) -> None:
    table, slot = tmp_path / "table", {"slot_key": "day"}
    first = bootstrap(table, source, MIXED, idempotency_key="run-1", **slot)
    before = tree(table)
    for asked in ({}, {"save_mode": "ignore"}, {"save_mode": "overwrite", "on_existing": "reuse"}):
        again = bootstrap(table, source, MIXED, idempotency_key="run-2", **slot, **asked)
        assert (again.status, again.instant) == ("already_committed", first.instant)
    for other in ({"slot_key": "another"}, {**slot, "on_existing": "append"}):
        with pytest.raises(RequestError, match="timeline of the table people is not empty"):
            bootstrap(table, source, MIXED, idempotency_key="run-2", **other)
    assert tree(table) == before
    assert bootstrap(table, source, **slot, save_mode="overwrite").status == "committed"


def test_rows_of_a_slot_are_not_replaced_by_a_bootstrap(tmp_path: Path, source: Path) -> None:
    with pytest.raises(OptionError, match=r"save\.mode=overwrite"):
        bootstrap(tmp_path / "table", source, on_existing="replace")


def bad(**files: pa.Table | bytes) -> dict[str, bytes]:
    return {
        f"{name}.parquet": data if isinstance(data, bytes) else file_bytes(data)
        for name, data in files.items()
    }


WITH_NULL_KEY = people(0, 4).set_column(0, "id", pa.array(["a", "b", None, "c"]))
WRONG: dict[str, tuple[dict[str, bytes], dict[str, str], type[HudiError], str]] = {
    "empty": ({"_SUCCESS": b""}, {}, MissingSourceError, "has no Parquet files"),
    "not readable": (bad(a=b"no"), {}, SourceError, r"a\.parquet"),
    "mixed formats": (
        {**bad(a=people(0, 2)), "b.orc": file_bytes(people(2, 2), BaseFileFormat.ORC)},
        {},
        SourceError,
        r"b\.orc is an ORC file",
    ),
    "another file": ({**bad(a=people(0, 2)), "b.txt": b"x"}, {}, SourceError, r"b\.txt"),
    "a Hudi table": (
        {**bad(a=people(0, 2)), ".hoodie/hoodie.properties": b""},
        {},
        SourceError,
        "is a Hudi table itself",
    ),
    "columns that do not fit": (
        bad(a=people(0, 2), b=people(2, 2).set_column(1, "ts", pa.array(["x", "y"]))),
        {},
        SchemaError,
        r"a\.parquet and b\.parquet do not fit each other in the column ts",
    ),
    "a meta column": (
        bad(a=people(0, 2).append_column("_hoodie_record_key", pa.array(["x", "y"]))),
        {},
        SchemaError,
        r"a\.parquet has the column _hoodie_record_key",
    ),
    "no such key column": (
        bad(a=people(0, 2)),
        {"hoodie.datasource.write.recordkey.field": "nope"},
        RequestError,
        "'nope'",
    ),
    "a null key": (bad(a=WITH_NULL_KEY), {}, RecordKeyError, r"a\.parquet.*is row 2"),
    "a null key in rows that are written": (
        bad(a=WITH_NULL_KEY),
        FULL_RECORD,
        RecordKeyError,
        "null",
    ),
    "folders and no columns": (
        {"x/a.parquet": file_bytes(people(0, 2))},
        {},
        SourceError,
        "the table no partition columns",
    ),
    "another column than the folder's": (
        {"city=x/a.parquet": file_bytes(people(0, 2))},
        {"hoodie.datasource.write.partitionpath.field": "part"},
        SourceError,
        "is no partition by part",
    ),
    "a value that is none of its type": (
        {"part=x/a.parquet": file_bytes(people(0, 2))},
        {
            "hoodie.write.schema": json.dumps(
                {
                    "type": "record",
                    "name": "people",
                    "fields": [
                        {"name": name, "type": ["null", kind], "default": None}
                        for name, kind in (
                            ("id", "string"),
                            ("ts", "long"),
                            ("score", "double"),
                            ("part", "int"),
                        )
                    ],
                }
            )
        },
        SourceError,
        "'part=x' of the source is no partition by part",
    ),
    "a row in another folder": (
        {
            "x/a.parquet": file_bytes(
                people(0, 2).append_column("part", pa.array(["x", "elsewhere"]))
            )
        },
        {"hoodie.datasource.write.partitionpath.field": "part"},
        SourceError,
        "row 1 of the source file .* belongs to the partition 'elsewhere'",
    ),
    "no meta columns": (
        bad(a=people(0, 2)),
        {"hoodie.populate.meta.fields": "false"},
        UnsupportedError,
        "metadata alone",
    ),
    "buckets, of which files of a source are none": (
        bad(a=people(0, 2)),
        {"hoodie.index.type": "BUCKET"},
        UnsupportedError,
        "BUCKET does not go with a bootstrap of metadata alone",
    ),
    "no such selector": (
        bad(a=people(0, 2)),
        {"hoodie.bootstrap.mode.selector": "some"},
        OptionError,
        "MetadataOnlyBootstrapModeSelector",
    ),
    "no such translator": (
        bad(a=people(0, 2)),
        {"hoodie.bootstrap.partitionpath.translator.class": "no.such:Thing"},
        OptionError,
        "cannot be imported",
    ),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_is_wrong_is_told_by_name_and_leaves_nothing(tmp_path: Path, what: str) -> None:
    files, options, kind, message = WRONG[what]
    source = lay_out(tmp_path / "source", files)
    key = None if "hoodie.datasource.write.recordkey.field" in options else "id"
    with pytest.raises(kind, match=message):
        bootstrap(tmp_path / "table", source, options, record_key=key)
    left = [path for path in (tmp_path / "table").rglob("*") if path.is_file()]
    assert left == []
    assert bootstrap(tmp_path / "table", lay_out(tmp_path / "fine", bad(a=people(0, 2)))).instant


def test_a_source_in_the_tables_folder_is_refused_and_so_is_the_reverse(
    tmp_path: Path, source: Path
) -> None:
    for table in (source, source / "part=north" / "table", tmp_path):
        with pytest.raises(RequestError, match="folder of their own"):
            bootstrap(table, source)
    (tmp_path / "link").symlink_to(source)
    with pytest.raises(RequestError, match="folder of their own"):
        bootstrap(tmp_path / "link" / "table", source)


def test_a_source_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(MissingSourceError, match="nowhere does not exist"):
        bootstrap(tmp_path / "table", tmp_path / "nowhere")


def test_files_of_shallower_folders_are_named_and_not_taken_over(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    files = {
        "year=1/month=2/a.parquet": file_bytes(people(0, 2)),
        "year=1/b.parquet": file_bytes(people(2, 2)),
    }
    result = bootstrap(tmp_path / "table", lay_out(tmp_path / "source", files))
    assert result.partitions == ("year=1/month=2",)
    assert any("year=1/b.parquet" in line for line in caplog.messages)


def test_files_that_differ_become_one_schema(tmp_path: Path) -> None:
    wide = people(2, 2).append_column("more", pa.array([1, 2], pa.int32()))
    narrow = people(0, 2).set_column(1, "ts", pa.array([0, 1], pa.int32()))
    source = lay_out(tmp_path / "source", bad(a=narrow, b=wide))
    bootstrap(tmp_path / "table", source)
    own = open_table(tmp_path / "table").schema()
    assert own.names[5:] == ["id", "ts", "score", "more"]
    assert own.field("ts").type == pa.int64()


class Upper:
    """A translator of the tests."""

    def translate(self, path: str) -> str:
        name, _, value = path.partition("=")
        return f"{name}={value.upper()}"


def test_a_translator_in_python_names_partitions(tmp_path: Path, source: Path) -> None:
    options = {
        "hoodie.bootstrap.partitionpath.translator.class": f"{__name__}:Upper",
        "hoodie.datasource.write.hive_style_partitioning": "true",
    }
    result = bootstrap(tmp_path / "table", source, options, partition_path="part")
    assert result.partitions == ("part=NORTH", "part=SOUTH", "part=WEST")
    index = read_bootstrap_index(open_storage(str(tmp_path / "table")))
    assert index is not None
    assert index.partitions["part=WEST"].source_partition == "part=west"


def test_escaped_values_are_kept_or_decoded(tmp_path: Path) -> None:
    source = lay_out(tmp_path / "source", {"part=a%2Fb/a.parquet": file_bytes(people(0, 2))})
    kept = bootstrap(tmp_path / "kept", source)
    assert kept.partitions == ("part=a%2Fb",)
    assert (
        properties(tmp_path / "kept")["hoodie.datasource.write.partitionpath.urlencode"] == "true"
    )
    decoded = {
        "hoodie.bootstrap.partitionpath.translator.class": (
            "org.apache.hudi.client.bootstrap.translator.DecodedBootstrapPartitionPathTranslator"
        )
    }
    assert bootstrap(tmp_path / "decoded", source, decoded).partitions == ("part=a/b",)


FAIL = {"hoodie.datasource.insert.dup.policy": "fail"}


@pytest.mark.parametrize("mode", [{}, FULL_RECORD, MIXED], ids=["skeletons", "rows", "both"])
def test_keys_that_occur_twice_are_named_where_that_is_asked(
    tmp_path: Path, mode: dict[str, str]
) -> None:
    twice = {
        "part=north/a.parquet": file_bytes(people(0, 3)),
        "part=north/b.parquet": file_bytes(people(2, 3)),
        "part=south/a.parquet": file_bytes(people(0, 1)),
    }
    source = lay_out(tmp_path / "source", twice)
    with pytest.raises(RecordKeyError, match=r"1 record keys occur .* 'k0002' in part=north"):
        bootstrap(tmp_path / "table", source, {**mode, **FAIL})
    assert not [path for path in (tmp_path / "table").rglob("*") if path.is_file()]
    everywhere = {**mode, **FAIL, "hoodie.index.type": "GLOBAL_SIMPLE"}
    with pytest.raises(RecordKeyError, match="2 record keys occur more than once"):
        bootstrap(tmp_path / "table", source, everywhere)
    assert bootstrap(tmp_path / "table", source, mode).records["inserted"] == 7


def report(folder: Path) -> dict[str, str]:
    return {
        "pyhudi.write.error.policy": "report",
        "pyhudi.write.error.path": str(folder),
    }


@pytest.mark.parametrize("mode", [FULL_RECORD, MIXED], ids=["rows", "both"])
def test_rows_that_are_written_may_be_reported_for_their_keys(
    tmp_path: Path, mode: dict[str, str]
) -> None:
    files = {
        "part=north/a.parquet": file_bytes(people(0, 3)),
        "part=south/b.parquet": file_bytes(WITH_NULL_KEY),
    }
    source = lay_out(tmp_path / "source", files)
    before = hashes(source)
    result = bootstrap(tmp_path / "table", source, {**mode, **report(tmp_path / "failed")})
    assert (result.records["inserted"], result.records["failed"]) == (6, 1)
    assert result.failures == {
        "examples": [{"key": None, "cause": "no record key: id null or empty"}],
        "saved_to": str(tmp_path / "failed"),
    }
    rows = pyhudi.read_table(tmp_path / "table", columns=["id"])
    assert sorted(rows["id"].to_pylist()) == ["a", "b", "c", "k0000", "k0001", "k0002"]
    saved = pq.read_table(tmp_path / "failed").to_pylist()
    assert [(row["record_key"], row["cause"], row["instant"]) for row in saved] == [
        (None, "no record key: id null or empty", "00000000000002")
    ]
    assert json.loads(saved[0]["row"])["part"] == "south"
    assert hashes(source) == before


@pytest.mark.parametrize("mode", [{}, MIXED], ids=["skeletons", "both"])
def test_a_row_that_stays_where_it_is_cannot_be_left_out_and_is_named(
    tmp_path: Path, mode: dict[str, str]
) -> None:
    files = {
        "part=north/a.parquet": file_bytes(WITH_NULL_KEY),
        "part=south/b.parquet": file_bytes(people(0, 3)),
    }
    source = lay_out(tmp_path / "source", files)
    failed = tmp_path / "failed"
    with pytest.raises(RecordKeyError, match=r"part=north/a\.parquet.*is row 2.*full_record"):
        bootstrap(tmp_path / "table", source, {**mode, **report(failed)})
    assert not [path for path in (tmp_path / "table").rglob("*") if path.is_file()]
    assert not failed.exists()


@pytest.mark.parametrize("mode", [{}, FULL_RECORD, MIXED], ids=["skeletons", "rows", "both"])
def test_keys_that_occur_twice_are_named_where_others_are_reported(
    tmp_path: Path, mode: dict[str, str]
) -> None:
    files = {
        "part=north/a.parquet": file_bytes(people(0, 3)),
        "part=north/b.parquet": file_bytes(people(2, 3)),
        "part=south/c.parquet": file_bytes(WITH_NULL_KEY if mode else people(9, 3)),
    }
    source = lay_out(tmp_path / "source", files)
    failed = tmp_path / "failed"
    with pytest.raises(RecordKeyError, match=r"1 record keys occur .* 'k0002' in part=north"):
        bootstrap(tmp_path / "table", source, {**mode, **FAIL, **report(failed)})
    assert not [path for path in (tmp_path / "table").rglob("*") if path.is_file()]
    assert not [path for path in failed.rglob("*") if path.is_file()]


def test_keys_that_differ_pass_where_they_are_looked_at(tmp_path: Path, source: Path) -> None:
    assert bootstrap(tmp_path / "table", source, {**MIXED, **FAIL}).status == "committed"


def test_keys_of_several_columns_may_come_from_the_folders_too(
    tmp_path: Path, source: Path
) -> None:
    bootstrap(tmp_path / "table", source, record_key="part,id")
    found = open_table(tmp_path / "table").latest_base_files(["part=north"])
    files = [pq.read_table(tmp_path / "table" / file.path, partitioning=None) for file in found]
    keys = [key for rows in files for key in rows["_hoodie_record_key"].to_pylist()]
    assert sorted(keys) == [f"part:north,id:k{number:04d}" for number in range(10)]


@pytest.mark.parametrize("mode", [{}, MIXED], ids=["skeletons", "both"])
def test_a_dataset_on_an_object_store_becomes_a_table_beside_it(
    store: StoreServer, tmp_path: Path, mode: dict[str, str]
) -> None:
    source = store.new_storage("lake/data set")
    store.fill(source, dataset())
    for table in (f"{source.uri.rpartition('/')[0]}/table", str(tmp_path / "table")):
        options = dict(store.options)
        if table.startswith("/"):  # where the options of the table's storage are none of S3's
            options = {f"bootstrap.{name}": value for name, value in options.items()}
        result = bootstrap_with(table, source.uri, mode, options)
        assert (result.status, result.records["inserted"]) == ("committed", 30)
        rows = pyhudi.read_table(table, storage_options=options)
        assert sorted(rows["id"].to_pylist()) == people(0, 30)["id"].to_pylist()
    inside = f"{source.uri}/part=north/table"
    with pytest.raises(RequestError, match="folder of their own"):
        bootstrap_with(inside, source.uri, mode, store.options)


def bootstrap_with(
    table: str, source: str, mode: Mapping[str, str], options: Mapping[str, str]
) -> JobResult:
    request = request_of(table, source, mode)
    return bootstrap_table(environment_on(InProcessRunner(), options), request)
