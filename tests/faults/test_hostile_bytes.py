"""Whatever bytes a table's files have, an error names the file, at once and in little memory.

Names in metadata do not lead out of the table, and nothing of it is run.
"""

import ast
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from datetime import timedelta
from functools import partial
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings

import pyhudi
from pyhudi.actions.clean import CleanPlan
from pyhudi.actions.restore import RestorePlan
from pyhudi.actions.rollback import InstantInfo, RollbackPlan, RollbackRequest
from pyhudi.errors import CorruptTableError, HudiError
from pyhudi.services.rollback import finish_rollback, roll_back
from pyhudi.storage.schemes import open_storage
from pyhudi.storage.storage import Storage
from pyhudi.table.table import load_table
from pyhudi.timeline.active import Metadata
from pyhudi.timeline.instant import Action, Instant, State
from tests.support.golden import golden_copy, golden_table
from tests.support.hostile import (
    BASE_BYTES,
    PER_BYTE,
    TIME,
    decoders,
    little_room,
    made_up,
    measured,
)
from tests.support.in_process import clock_at, outcome
from tests.support.orders import clean, orders, write
from tests.support.points import EXAMPLES, IS_LONG
from tests.support.reliability import PAGE, REWRITE
from tests.support.source_tree import shipped
from tests.support.timelines import active_of

DECODERS = decoders()
HANGS_AFTER_S = 20
MEASURED = 5
"""Of so many examples the memory of one is measured, which takes time."""
TOO_LONG = timedelta(seconds=5)
LATE = "20990101000000001"


@pytest.fixture(autouse=True)
def no_garbage() -> None:
    """No output is left open here, so nothing has to be collected after each test."""


@pytest.fixture(scope="module", autouse=True)
def bounds() -> Iterator[None]:
    """What hangs is interrupted, and what takes much memory fails."""

    def interrupt(*_: object) -> None:
        raise TimeoutError("it hangs")

    before = signal.signal(signal.SIGALRM, interrupt)
    with little_room():
        yield
    signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("name", DECODERS)
def test_made_up_bytes_are_refused_by_the_name_of_their_file(
    name: str, record_property: Callable[[str, object], None]
) -> None:
    decoder, tried = DECODERS[name], 0
    assert f"| {name} |" in PAGE.read_text(encoding="utf-8"), f"{REWRITE} writes {PAGE.name} again"

    @settings(
        max_examples=EXAMPLES,
        deadline=TOO_LONG,
        database=None,
        derandomize=not IS_LONG,
        suppress_health_check=list(HealthCheck),
    )
    @given(made_up(decoder.seeds))
    def examine(data: bytes) -> None:
        nonlocal tried
        tried += 1
        storage = decoder.storage(data)
        watch = measured() if tried % MEASURED == 0 else nullcontext(int)
        with watch as most_bytes:
            signal.setitimer(signal.ITIMER_REAL, HANGS_AFTER_S)
            try:
                decoder.read(storage)
            except HudiError as error:
                assert decoder.path in str(error), error  # noqa: PT017 - most examples raise none
            finally:
                signal.setitimer(signal.ITIMER_REAL, 0)
            size = sum(map(len, storage.files.values()))
            assert most_bytes() <= BASE_BYTES + PER_BYTE * size

    examine()
    record_property("examples", (name, tried))


def test_a_few_bytes_cannot_say_that_they_are_any_number_of_values() -> None:
    """Items of an array that take no bytes, as the plan of a compaction could have them."""
    decoder = DECODERS["compaction plan"]
    (seed,) = decoder.seeds[:1]
    items = b'"items":{"type":"string","avro.java.string":"String"}'
    data = seed.replace(items, b'"items":"null"'.ljust(len(items)))
    assert data != seed
    with pytest.raises(CorruptTableError, match="take no bytes"):
        decoder.read(decoder.storage(data))


OUTSIDE = (
    *("../outside", "x/../../outside", "/etc/outside", "x/\0"),
    *("x/folder", "x/folder/outside", "x/file"),
)


@pytest.mark.parametrize(
    "act",
    [
        pytest.param(lambda storage, path: storage.read(path), id="read"),
        pytest.param(lambda storage, path: storage.open_input(path), id="open"),
        pytest.param(lambda storage, path: storage.list(path), id="list"),
        pytest.param(lambda storage, path: storage.status(path), id="status"),
        pytest.param(lambda storage, path: storage.delete(path), id="delete"),
        pytest.param(lambda storage, path: storage.delete_dir(path), id="delete folder"),
        pytest.param(lambda storage, path: storage.create(path, b""), id="create"),
        pytest.param(lambda storage, path: storage.put(path, b""), id="put"),
        pytest.param(lambda storage, path: storage.open_output(path), id="write"),
        pytest.param(lambda storage, path: storage.make_dir(path), id="make folder"),
    ],
)
def test_no_path_leads_out_of_a_table(
    tmp_path: Path, act: Callable[[Storage, str], object]
) -> None:
    (tmp_path / "outside").write_bytes(b"kept")
    table = tmp_path / "table"
    (table / "x").mkdir(parents=True)
    os.symlink(tmp_path, table / "x" / "folder")
    os.symlink(tmp_path / "outside", table / "x" / "file")
    for path in OUTSIDE:
        with pytest.raises(CorruptTableError, match=r"leads out of|symbolic link"):
            act(open_storage(str(table)), path)
    assert (tmp_path / "outside").read_bytes() == b"kept"


def test_a_table_may_itself_be_reached_by_a_link(tmp_path: Path) -> None:
    os.symlink(golden_table("v6_cow_basic"), tmp_path / "link")
    rows = pyhudi.read_table(golden_table("v6_cow_basic")).num_rows
    assert pyhudi.read_table(tmp_path / "link").num_rows == rows


def test_a_link_to_the_folder_above_is_refused_and_not_followed_for_ever(tmp_path: Path) -> None:
    table = golden_copy("v6_cow_basic", tmp_path)
    (table / "z").mkdir()
    os.symlink(table, table / "z" / "up")
    os.symlink(table, table / "z" / "above")
    with pytest.raises(CorruptTableError, match="symbolic link"):
        pyhudi.read_table(table)


PLANS = {
    "above": ("..", "{root}/../victim_0-0-0_1.parquet"),
    "elsewhere": ("north", "/etc/passwd"),
    "another partition": ("north", "{root}/south/victim_0-0-0_1.parquet"),
    "metadata": (".hoodie", "{root}/.hoodie/hoodie.properties"),
    "no data file": ("north", "{root}/north/.hoodie_partition_metadata"),
}


@pytest.mark.parametrize(("partition", "file"), PLANS.values(), ids=PLANS)
def test_a_rollback_deletes_no_file_but_data_files_of_its_partition(
    tmp_path: Path, partition: str, file: str
) -> None:
    table = golden_copy("v6_cow_basic", tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    request = RollbackRequest(partition=partition, files_to_delete=(file.format(root=table),))
    _refused(
        table, RollbackPlan(instant=InstantInfo(time=TIME, action="commit"), requests=(request,))
    )
    assert before.items() <= {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}.items()


@pytest.mark.parametrize("part", ["paths", "emptied"])
@pytest.mark.parametrize(("partition", "file"), PLANS.values(), ids=PLANS)
def test_a_clean_deletes_nothing_but_data_files_of_its_partitions(
    tmp_path: Path, partition: str, file: str, part: str
) -> None:
    table = golden_copy("v6_cow_basic", tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    if part == "emptied" and partition == "north":
        partition = "north/../../elsewhere"
    files = {partition: (file.format(root=table),)} if part == "paths" else {}
    emptied = (partition,) if part == "emptied" else ()
    plan = CleanPlan(earliest=None, last_completed="", policy="", paths=files, emptied=emptied)
    _requested(table, Action.CLEAN, plan)
    with pytest.raises(CorruptTableError):
        clean(table, mode="execute")
    assert before.items() <= {p: p.read_bytes() for p in tmp_path.rglob("*") if p.is_file()}.items()


def test_a_clean_plan_of_mere_names_deletes_data_files_alone(tmp_path: Path) -> None:
    """As plans of version 1 have them."""
    table = golden_copy("v6_cow_basic", tmp_path)
    names = "old_0-0-0_1.parquet", "old_0-0-0_2.parquet", ".hoodie_partition_metadata"
    left, newer, mark = (table / "north" / name for name in names)
    left.write_bytes(b"x")
    newer.write_bytes(b"x")
    for name, is_deleted in ((mark.name, False), (left.name, True)):
        plan = CleanPlan(earliest=None, last_completed="", policy="", paths={"north": (name,)})
        _requested(table, Action.CLEAN, plan)
        assert (outcome(partial(clean, table, mode="execute")) is None) == is_deleted
        assert (left.exists(), mark.exists()) == (not is_deleted, True)
        for path in (table / ".hoodie").glob(f"{LATE}.*"):
            path.unlink()


def test_a_restore_takes_no_folder_for_an_instant(tmp_path: Path) -> None:
    table = golden_copy("v6_cow_basic", tmp_path)
    before = {path for path in tmp_path.rglob("*") if path.is_file()}
    info = InstantInfo(time="../../..", action="commit")
    _requested(table, Action.RESTORE, RestorePlan(savepoint=TIME, instants=(info,)))
    with pytest.raises(CorruptTableError, match="is no instant"):
        write(table, orders(("k", "north", 1, "v")))
    assert before <= set(tmp_path.rglob("*"))


@pytest.mark.parametrize("partition", ["..", ".hoodie", "/etc"])
def test_a_rollback_appends_to_no_file_outside_the_partitions(
    tmp_path: Path, partition: str
) -> None:
    table = golden_copy("v6_cow_basic", tmp_path)
    before = set(tmp_path.rglob("*"))
    blocks = {".victim_1.log.1_0-0-0": 1}
    request = RollbackRequest(partition=partition, log_blocks=blocks)
    info = InstantInfo(time=TIME, action="commit")
    _refused(table, RollbackPlan(instant=info, requests=(request,)))
    assert {path.name for path in {*tmp_path.rglob("*")} - before} <= {
        f"{LATE}.rollback.requested",
        f"{LATE}.rollback.inflight",
    }


@pytest.mark.parametrize(
    ("time", "action"), [("../..", "commit"), (".", "commit"), ("", "commit"), (TIME, "../x")]
)
def test_a_rollback_takes_no_folder_for_an_instant(tmp_path: Path, time: str, action: str) -> None:
    table = golden_copy("v6_cow_basic", tmp_path)
    before = {path for path in tmp_path.rglob("*") if path.is_file()}
    _refused(table, RollbackPlan(instant=InstantInfo(time=time, action=action), requests=()))
    assert before <= set(tmp_path.rglob("*"))


def _refused(table: Path, plan: RollbackPlan) -> None:
    """Let a rollback with this plan be finished, which is refused."""
    rollback = _requested(table, Action.ROLLBACK, plan)
    with pytest.raises(CorruptTableError):
        finish_rollback(load_table(open_storage(str(table))), clock_at(), rollback)


def _requested(table: Path, action: Action, plan: Metadata) -> Instant:
    """Put a plan on the timeline, later than all that is there."""
    requested = Instant(time=LATE, action=action, state=State.REQUESTED)
    active_of(open_storage(str(table))).request(requested, plan)
    return requested


def test_a_rollback_of_a_table_that_was_moved_deletes_the_files_where_they_are(
    tmp_path: Path,
) -> None:
    table = golden_copy("v6_cow_basic", tmp_path)
    (table / "north" / "left_0-0-0_1.parquet").write_bytes(b"x")
    named = "file:/where/it/was/north/left_0-0-0_1.parquet"
    request = RollbackRequest(partition="north", files_to_delete=(named,))
    plan = RollbackPlan(instant=InstantInfo(time=TIME, action="commit"), requests=(request,))
    rollback = _requested(table, Action.ROLLBACK, plan)
    finish_rollback(load_table(open_storage(str(table))), clock_at(), rollback)
    assert not (table / "north" / "left_0-0-0_1.parquet").exists()


@pytest.mark.parametrize("line", ["../victim", "/etc/victim", ".hoodie/hoodie.properties"])
def test_a_marker_that_leads_elsewhere_is_refused(tmp_path: Path, line: str) -> None:
    table = golden_copy("v6_cow_basic", tmp_path)
    (tmp_path / "victim").write_bytes(b"kept")
    dead = Instant(time="20990101000000001", action=Action.COMMIT, state=State.REQUESTED)
    storage = open_storage(str(table))
    active_of(storage).request(dead, None)
    storage.create(f".hoodie/.temp/{dead.time}/MARKERS0", f"{line}.marker.CREATE\n".encode())
    with pytest.raises(CorruptTableError, match="is no path of a data file"):
        roll_back(load_table(storage), clock_at(), dead.time)
    assert (tmp_path / "victim").read_bytes() == b"kept"
    assert storage.exists(".hoodie/hoodie.properties")


RUNS_CODE = {"pickle", "cloudpickle", "marshal", "shelve", "dill", "joblib"}
EVALUATES = {"eval", "exec", "compile", "__import__"}


def test_nothing_of_a_table_is_unpickled_or_evaluated() -> None:
    found = set()
    for module in shipped():
        for node in ast.walk(module.tree):
            names: list[str] = []
            if isinstance(node, ast.Import):
                names = [alias.name.partition(".")[0] for alias in node.names]
            elif isinstance(node, ast.ImportFrom):
                names = [(node.module or "").partition(".")[0]]
            elif isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                names = [node.func.id] if node.func.id in EVALUATES else []
            found |= {(module.where, name) for name in names if name in RUNS_CODE | EVALUATES}
    assert not found
