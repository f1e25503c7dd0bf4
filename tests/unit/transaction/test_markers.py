"""Markers of both kinds, ours and those of Hudi's timeline server."""

from pathlib import Path

import pytest

from pyhudi.storage.schemes import open_storage
from pyhudi.transaction.markers import (
    MarkedFile,
    MarkerType,
    delete_markers,
    delete_strays,
    leave_marker,
    marked_instants,
    read_markers,
)
from tests.support.golden import golden_copy, golden_table
from tests.support.memory import MemoryStorage

INSTANT = "20260102030405678"
FILE = f"part=a/b c/f-0_0-1-2_{INSTANT}.parquet"


def test_a_marker_says_which_file_and_what_becomes_of_it():
    storage = MemoryStorage()
    leave_marker(storage, INSTANT, FILE, MarkerType.MERGE)
    leave_marker(storage, INSTANT, FILE, MarkerType.MERGE)
    assert storage.files == {f".hoodie/.temp/{INSTANT}/{FILE}.marker.MERGE": b""}
    assert read_markers(storage, INSTANT) == (MarkedFile(path=FILE, kind=MarkerType.MERGE),)


def test_markers_of_the_timeline_server_are_read_from_its_lists():
    storage = open_storage(str(golden_table("v6_cow_inflight")))
    (instant,) = marked_instants(storage)
    found = read_markers(storage, instant)
    assert instant == "20261121105246167"
    kinds = [(file.path.split("/")[0], file.kind) for file in found]
    assert kinds == [("north", MarkerType.MERGE), ("south", MarkerType.MERGE)]
    assert all(storage.exists(file.path) for file in found)


def test_several_lists_and_direct_markers_are_read_together():
    storage = MemoryStorage()
    folder = f".hoodie/.temp/{INSTANT}"
    storage.put(f"{folder}/MARKERS.type", b"TIMELINE_SERVER_BASED")
    storage.put(f"{folder}/MARKERS0", b"p/a.parquet.marker.CREATE\n\np/b.parquet.marker.MERGE\n")
    storage.put(f"{folder}/MARKERS12", b"p/c.parquet.marker.APPEND\n")
    leave_marker(storage, INSTANT, "d.parquet", MarkerType.CREATE)
    found = [(file.path, file.kind.value) for file in read_markers(storage, INSTANT)]
    assert found == [
        ("d.parquet", "CREATE"),
        ("p/a.parquet", "CREATE"),
        ("p/b.parquet", "MERGE"),
        ("p/c.parquet", "APPEND"),
    ]


@pytest.mark.parametrize("kind", MarkerType)
def test_names_of_log_files_are_hidden_and_their_markers_found(kind: MarkerType, tmp_path: Path):
    storage, log = open_storage(str(tmp_path)), f"p/.f-0_{INSTANT}.log.1_0-1-2"
    leave_marker(storage, INSTANT, log, kind)
    storage.create(f".hoodie/.temp/{INSTANT}/p/..f-0_{INSTANT}.log.1_0-1-2.marker.CREATE.crc", b"")
    assert read_markers(storage, INSTANT) == (MarkedFile(path=log, kind=kind),)


def test_checksums_and_half_made_markers_are_no_markers(tmp_path: Path):
    """A writer that is killed leaves the hidden file that it would have given the name."""
    storage = open_storage(str(tmp_path))
    leave_marker(storage, INSTANT, FILE, MarkerType.CREATE)
    folder = f".hoodie/.temp/{INSTANT}/part=a/b c"
    storage.create(f"{folder}/.f-1.parquet.marker.CREATE.k3x9q_", b"")
    storage.create(f"{folder}/.f-0.parquet.marker.CREATE.crc", b"")
    assert [file.path for file in read_markers(storage, INSTANT)] == [FILE]


def test_strays_are_deleted_and_files_that_count_are_not(tmp_path: Path):
    storage = open_storage(str(golden_copy("v6_cow_inflight", tmp_path)))
    (instant,) = marked_instants(storage)
    kept, stray = (file.path for file in read_markers(storage, instant))
    assert delete_strays(storage, instant, read_markers(storage, instant), {kept}) == (stray,)
    assert storage.exists(kept)
    assert not storage.exists(stray)
    delete_markers(storage, instant)
    assert marked_instants(storage) == ()
    assert read_markers(storage, instant) == ()
