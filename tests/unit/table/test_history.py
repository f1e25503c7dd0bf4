"""The archive of layout 2: what Hudi left there, and what is said of damage."""

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pyhudi.actions.commit import CommitMetadata
from pyhudi.errors import CorruptTableError, MissingFileError
from pyhudi.storage.schemes import open_storage
from pyhudi.table.archived import ArchivedTimeline, instant_of, written_by
from pyhudi.table.history import History
from pyhudi.table.table import open_table
from pyhudi.timeline.instant import State
from tests.support.golden import golden_copy, golden_table

WITH_HISTORY = ("v8_cow_archived", "v9_cow_archived", "v9_cow_from_v6")


def archive_of(path: Path) -> ArchivedTimeline:
    table = open_table(path)
    return ArchivedTimeline.of(table.storage, table.config)


def history_in(path: Path) -> History:
    return History(storage=open_storage(str(path.parent)), folder=path.name)


@pytest.mark.parametrize("name", WITH_HISTORY)
def test_what_hudi_archived_went_before_the_timeline(name: str) -> None:
    table, archive = open_table(golden_table(name)), archive_of(golden_table(name))
    archived = archive.load()
    assert archived
    writes = archived.write_instants()
    assert writes.last
    assert writes.last.time < table.timeline.start
    assert all(each.state is State.COMPLETED for each in archived)
    completions = archive.completions_since("")
    assert completions.keys() == {each.time for each in writes}
    assert all(time < ended for time, ended in completions.items())
    assert archive.writes_since(writes.last.time) == {writes.last.time}


@pytest.mark.parametrize("name", WITH_HISTORY)
def test_archived_commits_say_what_they_wrote(name: str) -> None:
    archive = archive_of(golden_table(name))
    records = [each for file in archive.files() for each in archive.read(file)]
    commits = [found.commit for each in records if (found := written_by(each))]
    assert commits
    assert all(isinstance(each, CommitMetadata) for each in commits)
    assert all(stat.path for each in commits for stat in each.write_stats)
    assert all(each.transition_time and instant_of(each) for each in records)


def test_a_file_is_searched_for_what_its_instants_say_and_when_they_were() -> None:
    archive = archive_of(golden_table("v9_cow_archived"))
    newest = archive.files()[0]
    (first, *_) = archive.read(newest)
    assert archive.mentions(newest, first.time)
    assert archive.mentions(newest, "operationType")
    assert not archive.mentions(newest, "no such text")


def test_a_table_that_archived_nothing_has_none() -> None:
    archive = archive_of(golden_table("v9_cow_basic"))
    assert archive.files() == ()
    assert len(archive.load()) == 0


def made(path: Path, **files: list[str]) -> None:
    """Files of instants by the letter in their names."""
    for letter, times in files.items():
        rows = {
            "instantTime": times,
            "completionTime": [f"{time}9" for time in times],
            "action": ["commit"] * len(times),
            "metadata": pa.array([b""] * len(times), pa.binary()),
        }
        pq.write_table(pa.table(rows), path / f"{ord(letter)}_{ord(letter)}_0.parquet")


def manifest(path: Path, number: int, letters: str) -> None:
    names = [f"{ord(letter)}_{ord(letter)}_0.parquet" for letter in letters]
    text = json.dumps({"files": [{"fileName": name, "fileLen": 1} for name in names]})
    (path / f"manifest_{number}").write_text(text)


def names(path: Path) -> set[str]:
    return {file.name.split("_")[0] for file in history_in(path).files()}


def test_the_manifest_that_is_noted_counts_and_else_the_last(tmp_path: Path) -> None:
    made(tmp_path, a=["1"], b=["2"])
    manifest(tmp_path, 2, "a")
    manifest(tmp_path, 10, "ab")
    assert names(tmp_path) == {str(ord("a")), str(ord("b"))}
    (tmp_path / "_version_").write_text("2")
    assert names(tmp_path) == {str(ord("a"))}
    (tmp_path / "_version_").write_text("")
    assert names(tmp_path) == {str(ord("a")), str(ord("b"))}


def test_instants_since_a_time_are_told_in_whatever_order_they_lie(tmp_path: Path) -> None:
    made(tmp_path, a=["3", "1", "2"])
    manifest(tmp_path, 1, "a")
    (file,) = history_in(tmp_path).files()
    rows = history_in(tmp_path).rows(file, ("instantTime",), since="2")
    assert sorted(rows["instantTime"].to_pylist()) == ["2", "3"]


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{", "no manifest"),
        ("[]", "no manifest"),
        ('{"files": [{"fileName": "../../x.parquet"}]}', "no file of instants"),
        ('{"files": [{"fileName": "1_2_0.parquet"}]}', "is not there"),
    ],
)
def test_a_manifest_that_cannot_be_true_is_told(tmp_path: Path, text: str, problem: str) -> None:
    (tmp_path / "manifest_1").write_text(text)
    with pytest.raises(CorruptTableError, match=problem):
        history_in(tmp_path).files()


def test_a_file_that_is_none_of_instants_is_told(tmp_path: Path) -> None:
    table = golden_copy("v9_cow_archived", tmp_path)
    archive = archive_of(table)
    (file, *_) = archive.files()
    path = table / file.status.path
    path.write_bytes(path.read_bytes()[:100])
    with pytest.raises(CorruptTableError, match="holds no archived instants"):
        archive.load()
    path.unlink()
    with pytest.raises(MissingFileError, match="instants were archived meanwhile"):
        list(archive.read(file))
