"""The version of a table is changed by the command, or it is said what would change."""

from pathlib import Path

import pytest

from pyhudi import open_table
from tests.support.console import Shell
from tests.support.golden import golden_copy
from tests.support.orders import OPTIONS, many, write


@pytest.fixture
def orders(tmp_path: Path) -> Path:
    write(tmp_path / "orders", many(range(4), 1, "a"), "upsert", OPTIONS)
    return tmp_path / "orders"


def test_a_table_is_upgraded_and_downgraded(pyhudi: Shell, orders: Path) -> None:
    found = pyhudi.json("upgrade", orders, "--to", "9")
    assert (found["status"], found["version_before"], found["version"]) == ("changed", 6, 9)
    assert open_table(str(orders)).config.version.value == 9
    assert pyhudi.json("upgrade", orders, "--to", "9")["status"] == "nothing_to_do"
    assert pyhudi.json("count", orders)["rows"] == 4
    assert pyhudi.json("downgrade", orders, "--to", "6")["version"] == 6
    assert pyhudi.outcome("validate", orders)[0] == 0


def test_a_dry_run_changes_nothing(pyhudi: Shell, orders: Path) -> None:
    before = {path: path.stat().st_mtime_ns for path in orders.rglob("*")}
    found = pyhudi.json("upgrade", orders, "--to", "8", "--dry-run")
    assert found["status"] == "planned"
    told = {each["property"]: each["value"] for each in found["properties"]}
    assert told["hoodie.table.version"] == "8"
    assert told["hoodie.record.merge.mode"] == "EVENT_TIME_ORDERING"
    assert {path: path.stat().st_mtime_ns for path in orders.rglob("*")} == before


def test_the_wrong_way_is_refused(pyhudi: Shell, orders: Path) -> None:
    code, _, told = pyhudi.outcome("downgrade", orders, "--to", "9")
    assert (code, "use pyhudi upgrade" in told) == (2, True)


def test_log_files_are_compacted_first(pyhudi: Shell, tmp_path: Path) -> None:
    table = golden_copy("v6_mor_basic", tmp_path)
    rows = pyhudi.json("count", table)["rows"]
    _, told, _ = pyhudi.outcome("upgrade", table, "--to", "9", "--dry-run")
    assert "file slices with log files would be compacted first" in told
    assert pyhudi.json("upgrade", table, "--to", "9")["version"] == 9
    assert pyhudi.json("count", table)["rows"] == rows
    code, _, told = pyhudi.outcome("downgrade", table, "--to", "6")
    assert (code, "pyhudi clean TABLE" in told) == (2, True)


@pytest.mark.parametrize(
    ("name", "why"), [("v6_cow_bootstrap", "bootstrapped"), ("v9_cow_cdc", "change data")]
)
def test_what_is_not_changed_is_named(name: str, why: str, pyhudi: Shell, tmp_path: Path) -> None:
    table = golden_copy(name, tmp_path)
    way, to = ("upgrade", "9") if name.startswith("v6") else ("downgrade", "6")
    code, _, told = pyhudi.outcome(way, table, "--to", to)
    assert (code, why in told) == (2, True)
