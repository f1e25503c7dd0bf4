"""Tables of versions 8 and 9 that both write: Hudi's own release of each and we, by turns."""

from pathlib import Path

import pyarrow as pa
import pytest

import pyhudi
from pyhudi.jobs.compaction import COMPACTION_KIND, LOG_COMPACTION_KIND, CompactionRequest
from pyhudi.jobs.result import JobResult
from pyhudi.logfile.positions import position_headers
from pyhudi.pipeline.compaction import compact_table
from pyhudi.schema.columns import Positions
from pyhudi.write.files import append
from tests.interop import ours
from tests.interop.hudi import RealHudi
from tests.interop.model import TableModel
from tests.interop.rows import assert_same_rows, user_columns
from tests.interop.scenarios import Scenario
from tests.support.orders import HERE, write

VERSION_OF = {"1.0.2": "8", "1.1.1": "9"}
SCENARIO = Scenario("later", partitions=("region",), more={"hoodie.metadata.enable": "false"})
SWITCHED_OFF = {"hoodie__write__record__positions": "false"}
DROPPED = {"hoodie.datasource.write.partitions.to.delete": "asia"}
REWRITTEN, APPENDED = "COPY_ON_WRITE", "MERGE_ON_READ"
INDEXES = (
    ("BLOOM", REWRITTEN),
    ("GLOBAL_SIMPLE", APPENDED),
    ("GLOBAL_BLOOM", REWRITTEN),
    ("BUCKET", APPENDED),
)
NOW = {
    "hoodie.compact.inline.max.delta.commits": "1",
    "hoodie.log.compaction.blocks.threshold": "2",
}


class Turns:
    """One table, written by either; what it should hold is kept beside."""

    def __init__(
        self, hudi: RealHudi, path: Path, table_type: str = REWRITTEN, **more: str
    ) -> None:
        self.hudi, self.path = hudi, path
        named = {name.replace("__", "."): value for name, value in more.items()}
        own = {
            "hoodie.write.table.version": VERSION_OF[hudi.version],
            "hoodie.datasource.write.table.type": table_type,
            # Hudi's batch writes compact by themselves unless they are told not to.
            "hoodie.compact.inline": "false",
        }
        self.options = {**SCENARIO.options, **own, **named}
        self.model: TableModel = SCENARIO.model()

    def write(self, by: str, operation: str, rows: pa.Table, **more: str) -> str:
        named = {name.replace("__", "."): value for name, value in more.items()}
        options = {**self.options, **named}
        if by == "ours":
            done = write(self.path, rows, operation, options)
            assert done.completion_time > done.instant
            return str(done.instant)
        mode = "append" if self.path.exists() else "overwrite"
        return self.hudi.write(self.path, rows, operation, options=options, mode=mode)

    def upsert(self, by: str, numbers: range, generation: int, operation: str = "upsert") -> str:
        rows = SCENARIO.batch(numbers, generation)
        self.model.upsert(rows)
        return self.write(by, operation, rows)

    def delete(self, by: str, numbers: range) -> str:
        rows = SCENARIO.batch(numbers, 9)
        self.model.delete(rows)
        return self.write(by, "delete", rows)

    def replace(self, by: str, operation: str, rows: pa.Table, gone: set[str], **more: str) -> str:
        kept = [row for row in self.model.table().to_pylist() if row["region"] not in gone]
        self.model = SCENARIO.model()
        if kept:
            self.model.upsert(pa.Table.from_pylist(kept, schema=rows.schema))
        if operation != "delete_partition":
            self.model.upsert(rows)
        return self.write(by, operation, rows, **more)

    def compact(self, mode: str, kind: str = COMPACTION_KIND, instant: str = "") -> JobResult:
        request = CompactionRequest(
            base_path=str(self.path),
            mode=mode,
            kind=kind,
            instant=instant or None,
            hoodie_conf=NOW,
        )
        return compact_table(HERE, request)

    def check(self) -> None:
        by_hudi = self.hudi.read(self.path)
        assert_same_rows(user_columns(by_hudi), self.model.rows())
        assert_same_rows(ours.read(self.path), by_hudi)

    def check_whole(self, *, exercise: bool = False) -> None:
        """As ``check``, and what Hudi finds in the files; ``exercise`` lets it go on on a copy."""
        self.check()
        assert self.hudi.failures(self.path, exercise=exercise) == []
        assert pyhudi.open_table(str(self.path)).config.version.value == int(
            VERSION_OF[self.hudi.version]
        )


def of_regions(numbers: range, generation: int, *regions: str) -> pa.Table:
    rows = SCENARIO.batch(numbers, generation)
    chosen = [row for row in rows.to_pylist() if row["region"] in regions]
    return pa.Table.from_pylist(chosen, schema=rows.schema)


@pytest.mark.parametrize(("first", "table_type"), [("ours", APPENDED), ("hudi", REWRITTEN)])
def test_every_operation_by_turns(
    first: str, table_type: str, later: RealHudi, tmp_path: Path
) -> None:
    turns = Turns(later, tmp_path / "table", table_type)
    second = "hudi" if first == "ours" else "ours"
    turns.upsert(first, range(30), 1, "insert")
    turns.check_whole()
    turns.upsert(second, range(20, 40), 2)
    turns.upsert(first, range(10, 45), 3)
    turns.check()
    turns.delete(second, range(8))
    turns.delete(first, range(5, 12))
    turns.check()
    africa = of_regions(range(30, 60), 4, "africa")
    turns.replace(first, "insert_overwrite", africa, {"africa"})
    turns.check()
    turns.replace(second, "insert_overwrite", of_regions(range(40, 70), 5, "europe"), {"europe"})
    turns.upsert(first, range(70, 85), 6, "bulk_insert")
    turns.check()
    turns.replace(first, "delete_partition", africa, {"asia"}, **_underscored(DROPPED))
    turns.check_whole()
    everything = SCENARIO.batch(range(100, 110), 7)
    turns.replace(first, "insert_overwrite_table", everything, {"africa", "asia", "europe"})
    turns.upsert(second, range(105, 120), 8)
    turns.check_whole(exercise=True)
    assert_same_rows(ours.read_with_hudi_rs(turns.path), ours.read(turns.path))


def _underscored(options: dict[str, str]) -> dict[str, str]:
    return {name.replace(".", "__"): value for name, value in options.items()}


@pytest.mark.parametrize(("index", "table_type"), INDEXES)
def test_every_index_by_turns(index: str, table_type: str, later: RealHudi, tmp_path: Path) -> None:
    chosen = {"hoodie.index.type": index, "hoodie.bucket.index.num.buckets": "2"}
    turns = Turns(later, tmp_path / "table", table_type, **_underscored(chosen))
    turns.upsert("ours", range(30), 1)
    turns.upsert("hudi", range(20, 40), 2)
    turns.upsert("ours", range(10, 45), 3)
    turns.delete("ours", range(5))
    turns.check_whole()


@pytest.mark.parametrize(("planner", "runner"), [("hudi", "ours"), ("ours", "hudi")])
def test_a_compaction_that_one_plans_is_run_by_the_other(
    planner: str, runner: str, later: RealHudi, tmp_path: Path
) -> None:
    """Both write on meanwhile; then each compacts what the other wrote since."""
    turns = Turns(later, tmp_path / "table", APPENDED)
    turns.upsert("hudi", range(30), 1, "insert")
    turns.upsert("ours", range(20), 2)
    turns.upsert("hudi", range(10, 25), 3)
    turns.delete("ours", range(4))
    planned = compacted(turns, planner, "schedule")
    turns.upsert("ours", range(5, 12), 4)
    turns.upsert("hudi", range(10, 35), 5)
    turns.check()
    assert compacted(turns, runner, "execute", planned)
    turns.check_whole()
    turns.delete("hudi", range(26, 29))
    turns.upsert("ours", range(6, 14), 6)
    turns.check()
    assert compacted(turns, planner, "execute", compacted(turns, planner, "schedule"))
    turns.check_whole(exercise=True)
    read_optimized = ours.read(turns.path, query_type="read_optimized")
    assert_same_rows(user_columns(read_optimized), turns.model.rows())
    assert_same_rows(ours.read_with_hudi_rs(turns.path), ours.read(turns.path))


def test_hudi_finds_the_rows_that_log_blocks_change_by_their_positions(
    later: RealHudi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Beside blocks without positions too; wrong ones show that it goes by them, and we by keys."""
    turns = Turns(later, tmp_path / "table", APPENDED)
    turns.upsert("ours", range(60), 1, "insert")
    turns.upsert("ours", range(50, 10, -3), 2)
    turns.delete("ours", range(18, 22))
    turns.check()
    turns.upsert("hudi", range(24, 29), 3)
    turns.write("ours", "upsert", SCENARIO.batch(range(30, 33), 1), **SWITCHED_OFF)
    turns.upsert("ours", range(40, 44), 4)
    turns.check_whole()

    def of_the_next_row(positions: Positions, base_instant: str) -> dict[int, str]:
        return position_headers(positions + 1, base_instant)

    monkeypatch.setattr(append, "position_headers", of_the_next_row)
    wrong = Turns(later, tmp_path / "wrong", APPENDED)
    wrong.upsert("ours", range(30), 1, "insert")
    wrong.upsert("ours", range(5), 2)
    assert_same_rows(user_columns(ours.read(wrong.path)), wrong.model.rows())
    assert user_columns(later.read(wrong.path)) != user_columns(ours.read(wrong.path))


def compacted(turns: Turns, by: str, mode: str, instant: str = "") -> str:
    """The instant of a compaction that one plans or runs."""
    if by == "ours":
        return turns.compact(mode, instant=instant).instant or ""
    if mode == "schedule":
        return str(turns.hudi.ask("plan_compaction", table=str(turns.path)))
    turns.hudi.ask("run_compaction", table=str(turns.path), instant=instant)
    return instant


def test_log_blocks_that_one_has_compacted_are_read_and_compacted_by_the_other(
    later: RealHudi, tmp_path: Path
) -> None:
    turns = Turns(later, tmp_path / "table", APPENDED)
    turns.upsert("ours", range(30), 1, "insert")
    turns.upsert("hudi", range(20), 2)
    turns.upsert("ours", range(10, 25), 3)
    turns.delete("hudi", range(4))
    assert turns.compact("schedule_and_execute", LOG_COMPACTION_KIND).status == "committed"
    turns.check_whole()
    # Hudi 1.0.2 cannot read a key that comes back in a log file which its delete is in front of.
    turns.upsert("hudi", range(4, 8), 4)
    turns.upsert("ours", range(6, 16), 5)
    planned = later.ask("plan_log_compaction", table=str(turns.path))
    later.ask("run_log_compaction", table=str(turns.path), instant=planned)
    turns.check()
    planned = turns.compact("schedule").instant
    assert turns.compact("unschedule", instant=planned or "").status == "unscheduled"
    turns.upsert("ours", range(5, 7), 6)
    assert turns.compact("schedule_and_execute").status == "committed"
    turns.check_whole(exercise=True)


def test_rules_of_merging_are_those_of_the_properties(later: RealHudi, tmp_path: Path) -> None:
    by_commit = {"hoodie.write.record.merge.mode": "COMMIT_TIME_ORDERING"}
    for name, more in (("event", {}), ("commit", by_commit)):
        table_type = APPENDED if name == "event" else REWRITTEN
        turns = Turns(later, tmp_path / name, table_type, **_underscored(more))
        turns.write("ours", "insert", SCENARIO.batch(range(20), 5))
        turns.write("hudi", "upsert", SCENARIO.batch(range(10), 3))
        turns.write("ours", "upsert", SCENARIO.batch(range(5, 15), 4))
        turns.write("hudi", "upsert", SCENARIO.batch(range(12, 18), 7))
        by_hudi = later.read(turns.path)
        assert_same_rows(ours.read(turns.path), by_hudi)
        notes = {row["note"] for row in by_hudi if row["note"]}
        wanted = {5, 7} if name == "event" else {3, 4, 5, 7}
        assert notes == {f"generation {each}" for each in wanted}


def test_a_metadata_table_of_hudi_s_is_switched_off_and_built_anew(
    later: RealHudi, tmp_path: Path
) -> None:
    with_metadata = {"hoodie__metadata__enable": "true"}
    turns = Turns(later, tmp_path / "table", **with_metadata)
    turns.upsert("hudi", range(30), 1, "insert")
    assert pyhudi.open_table(str(turns.path)).config.metadata_partitions
    turns.upsert("ours", range(20, 40), 2)
    assert not pyhudi.open_table(str(turns.path)).config.metadata_partitions
    assert not (turns.path / ".hoodie" / "metadata").exists()
    turns.check()
    turns.upsert("hudi", range(30, 50), 3)
    assert pyhudi.open_table(str(turns.path)).config.metadata_partitions
    assert_same_rows(later.read(turns.path, metadata=True), ours.read(turns.path))
    turns.check_whole()
    turns.upsert("ours", range(10), 4)
    turns.check_whole()
