"""Histories of tables of version 8 and 9: Hudi's own release of each and we archive by turns."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from pyhudi.config.write import IDEMPOTENCY_KEY
from tests.interop import hudi_home, ours
from tests.interop.hudi import RealHudi
from tests.interop.rows import assert_same_rows
from tests.interop.test_archive import (
    KEEPING,
    archived_by_hudi,
    instants_of,
    records_of,
    we_archive,
)
from tests.interop.test_written_later import SCENARIO, VERSION_OF
from tests.support.orders import write

LEFT_ALONE = {"hoodie.archive.automatic": "false", "hoodie.clean.automatic": "false"}


@pytest.fixture(scope="module", params=hudi_home.LATER)
def later(request: pytest.FixtureRequest, hudi_home_ready: None) -> Iterator[RealHudi]:
    """Real Hudi whose own table version is 8, and then 9."""
    with RealHudi(request.param) as process:
        yield process


class Archiving:
    """A table that either writes, with few instants on the timeline."""

    def __init__(self, hudi: RealHudi, path: Path, **more: str) -> None:
        self.hudi, self.path = hudi, path
        named = {name.replace("__", "."): value for name, value in more.items()}
        version = {"hoodie.write.table.version": VERSION_OF[hudi.version]}
        self.options = {**SCENARIO.options, **version, **KEEPING, **named}

    def ours(self, numbers: range, **more: str) -> list[str]:
        named = {name.replace("__", "."): value for name, value in more.items()}
        chosen = {**self.options, **named}
        return [
            str(
                write(
                    self.path,
                    SCENARIO.batch(range(5 * n % 20, 20), n),
                    "upsert",
                    {**chosen, IDEMPOTENCY_KEY.key: f"key-{n}"},
                ).instant
            )
            for n in numbers
        ]

    def hudi_s(self, numbers: range) -> list[str]:
        return [
            self.hudi.write(
                self.path,
                SCENARIO.batch(range(5 * n % 20, 20), n),
                "upsert",
                options=self.options,
                mode="append" if self.path.exists() else "overwrite",
            )
            for n in numbers
        ]

    @property
    def history(self) -> Path:
        return self.path / ".hoodie" / "timeline" / "history"

    def check(self) -> set[tuple[str, str]]:
        """Both find the same archive and rows; gives what is archived."""
        archived, active = instants_of(self.path)
        assert not archived & active
        assert archived_by_hudi(self.hudi, self.path) == archived
        by_hudi = self.hudi.read(self.path)
        assert_same_rows(ours.read(self.path), by_hudi)
        begin = min(time for time, action in archived if action == "commit")
        changed = ours.read(self.path, query_type="incremental", begin=begin)
        assert_same_rows(self.hudi.read(self.path, begin=begin), changed)
        return archived


@pytest.mark.parametrize("first", ["ours", "hudi"])
def test_histories_are_gone_on_with_by_turns(first: str, later: RealHudi, tmp_path: Path) -> None:
    table = Archiving(later, tmp_path / "table")
    made = table.ours(range(1, 12)) if first == "ours" else table.hudi_s(range(1, 8))
    assert (table.history / "_version_").exists() == (first == "hudi")
    early = table.check()
    assert early
    more = table.hudi_s(range(12, 15)) if first == "ours" else table.ours(range(12, 19))
    assert (table.history / "_version_").exists() == (first == "ours")
    archived = table.check()
    assert archived > early
    made += [*more, *table.ours(range(19, 25)), *table.hudi_s(range(25, 27))]
    last = table.check()
    _, active = instants_of(table.path)
    assert set(made) <= {time for time, _ in last | active}
    if first == "ours":
        told = next(
            each
            for each in later.ask("archived", table=str(table.path))
            if each["requested"] == made[0]
        )
        assert "key-1" in told["details"]
    assert later.failures(table.path) == []


def test_levels_of_ours_are_read_and_merged_on(later: RealHudi, tmp_path: Path) -> None:
    few = {"hoodie__keep__min__commits": "2", "hoodie__keep__max__commits": "3"}
    table = Archiving(later, tmp_path / "table", **few)
    table.ours(range(1, 36))
    assert list(table.history.glob("*_1.parquet"))
    early = table.check()
    table.hudi_s(range(36, 39))
    assert table.check() > early
    table.ours(range(39, 61))
    assert len(list(table.history.glob("*_1.parquet"))) > 1
    table.check()
    assert later.failures(table.path) == []


def test_both_archive_the_same(later: RealHudi, tmp_path: Path) -> None:
    named = {name.replace(".", "__"): value for name, value in LEFT_ALONE.items()}
    table = Archiving(later, tmp_path / "table", **named)
    for n in range(1, 7):
        (made,) = table.hudi_s(range(n, n + 1))
        if n == 3:
            (undone,) = table.hudi_s(range(50, 51))
            later.ask("rollback", table=str(table.path), instant=undone)
        if n == 4:
            rows = SCENARIO.batch(range(3), 60)
            later.write(table.path, rows, "insert_overwrite", options=table.options)
        later.ask("clean", table=str(table.path))
    for more in ({}, {"hoodie.keep.max.commits": "30"}):
        check_same(later, table.path, tmp_path, **more)
    later.ask("savepoint", table=str(table.path), instant=made)
    check_same(later, table.path, tmp_path)


def check_same(hudi: RealHudi, table: Path, tmp_path: Path, **more: str) -> None:
    """Hudi and we archive copies of a table, and leave the same of both."""
    theirs, mine = (shutil.copytree(table, tmp_path / name) for name in ("theirs", "mine"))
    hudi.ask("archive", table=str(theirs), options={**KEEPING, **more})
    we_archive(mine, **{name.replace(".", "__"): value for name, value in more.items()})
    names = [
        {p.name for p in (copy / ".hoodie" / "timeline").glob("2*")} for copy in (theirs, mine)
    ]
    assert names[0] == names[1]
    assert records_of(hudi, mine) == records_of(hudi, theirs)
    shutil.rmtree(theirs)
    shutil.rmtree(mine)
