"""Tables whose version one changes and the other goes on with: real Hudi's upgrade and ours."""

from pathlib import Path

import pytest

import pyhudi
from pyhudi.config.versions import TableVersion
from pyhudi.pipeline.version_change import change_table_version
from tests.interop import ours
from tests.interop.hudi import RealHudi
from tests.interop.hudi_home import LATER
from tests.interop.rows import assert_same_rows, user_columns
from tests.interop.test_archive import KEEPING, archived_by_hudi, instants_of
from tests.interop.test_written_later import SCENARIO, VERSION_OF
from tests.support.golden import golden_copy
from tests.support.orders import HERE, WAIT, write
from tests.support.points import IS_WHOLE

OWN = {**SCENARIO.options, **KEEPING}
COPIED: dict[str, str] = {}
LOGGED = {
    "hoodie.datasource.write.table.type": "MERGE_ON_READ",
    "hoodie.compact.inline": "true",
    "hoodie.compact.inline.max.delta.commits": "3",
}
OF_EIGHT, OF_NINE = LATER


def own_version(hudi: RealHudi) -> int:
    return int(VERSION_OF.get(hudi.version, "6"))


def we_change(path: Path, to: int) -> None:
    """The rows are the same afterwards."""
    rows, now = user_columns(ours.read(path)), version_of(path)
    environment, options = HERE, {WAIT: "0"}
    done = change_table_version(
        environment, str(path), TableVersion(to), options, is_upgrade=to > now
    )
    assert done.is_done
    assert_same_rows(user_columns(ours.read(path)), rows)


def hudi_changes(hudi: RealHudi, path: Path, to: int) -> None:
    """The rows that we find are the same afterwards."""
    rows = user_columns(ours.read(path))
    hudi.ask("change_version", table=str(path), to=to, own=str(own_version(hudi)))
    assert version_of(path) == to
    assert_same_rows(user_columns(ours.read(path)), rows)


def version_of(path: Path) -> int:
    return pyhudi.open_table(str(path)).config.version.value


def made(path: Path, version: int, kind: dict[str, str] = COPIED) -> Path:
    """A table of ours with an archive, cleans, deletes and an overwrite."""
    options = {**OWN, **kind, "hoodie.write.table.version": str(version)}
    for n in range(1, 9):
        write(path, SCENARIO.batch(range(5 * n % 20, 20), n), "upsert", options)
    write(path, SCENARIO.batch(range(3), 9), "delete", options)
    write(path, SCENARIO.batch(range(30, 36), 10), "insert_overwrite", options)
    return path


def check(hudi: RealHudi, path: Path) -> set[tuple[str, str]]:
    """Both find the same rows and the same archive; gives what is archived."""
    assert_same_rows(ours.read(path), hudi.read(path))
    archived, active = instants_of(path)
    assert not archived & active
    assert archived_by_hudi(hudi, path) == archived
    return archived


def by_turns(hudi: RealHudi, path: Path, first: int, kind: dict[str, str] = COPIED) -> None:
    """Both write, and archive the while; nothing that was archived is lost."""
    options = {**OWN, **kind, "hoodie.write.table.version": str(version_of(path))}
    before = check(hudi, path)
    assert before
    hudi.write(path, SCENARIO.batch(range(5, 40), first), "upsert", options=options)
    write(path, SCENARIO.batch(range(8), first + 1), "upsert", options)
    assert check(hudi, path) >= before
    if IS_WHOLE:
        assert hudi.failures(path, exercise=False) == []


def test_hudi_goes_on_with_what_we_upgraded_and_downgrades_it(
    later: RealHudi, tmp_path: Path
) -> None:
    path = made(tmp_path / "table", 6)
    we_change(path, own_version(later))
    by_turns(later, path, 11)
    assert later.failures(path, exercise=False) == []
    hudi_changes(later, path, 6)
    write(path, SCENARIO.batch(range(4), 13), "upsert", OWN)
    assert_same_rows(ours.read(path), later.read(path))


def test_we_go_on_with_what_hudi_upgraded_and_downgrade_it(later: RealHudi, tmp_path: Path) -> None:
    path = made(tmp_path / "table", 6)
    hudi_changes(later, path, own_version(later))
    options = {**OWN, "hoodie.write.table.version": str(own_version(later))}
    write(path, SCENARIO.batch(range(8), 11), "upsert", options)
    check(later, path)
    we_change(path, 6)
    assert_same_rows(user_columns(ours.read(path)), user_columns(later.read(path)))


@pytest.mark.parametrize("hudi", ["0.15.0"], indirect=True)
@pytest.mark.parametrize("now", [8, 9] if IS_WHOLE else [9])
def test_an_older_hudi_goes_on_with_what_we_downgraded(
    now: int, hudi: RealHudi, tmp_path: Path
) -> None:
    path = made(tmp_path / "table", now)
    we_change(path, 6)
    by_turns(hudi, path, 11)
    path = golden_copy("v9_cow_archived", tmp_path)
    we_change(path, 6)
    assert check(hudi, path)


@pytest.mark.parametrize("later", [OF_NINE], indirect=True)
def test_upwards_within_the_same_layout(later: RealHudi, tmp_path: Path) -> None:
    path = made(tmp_path / "table", 8)
    we_change(path, 9)
    by_turns(later, path, 11)
    hudi_changes(later, path, 8)
    we_change(path, 9)
    check(later, path)


@pytest.mark.parametrize("later", LATER if IS_WHOLE else [OF_EIGHT], indirect=True)
def test_downwards_within_the_same_layout(later: RealHudi, tmp_path: Path) -> None:
    path = made(tmp_path / "table", 9)
    we_change(path, 8)
    by_turns(later, path, 11)


def made_with_logs(path: Path) -> Path:
    options = {**OWN, **LOGGED, "hoodie.compact.inline": "false"}
    write(made(path, 6, LOGGED), SCENARIO.batch(range(31, 34), 11), "upsert", options)
    assert logs_of(path)
    return path


def logs_of(path: Path) -> list[str]:
    """The log files that count."""
    slices = pyhudi.open_table(str(path)).latest_slices()
    return [log.path for each in slices for log in each.log_files]


@pytest.mark.parametrize("later", LATER if IS_WHOLE else [OF_NINE], indirect=True)
def test_log_files_are_compacted_by_whoever_changes_the_version(
    later: RealHudi, tmp_path: Path
) -> None:
    to = own_version(later)
    path = made_with_logs(tmp_path / "ours")
    we_change(path, to)
    assert not logs_of(path)
    by_turns(later, path, 12, LOGGED)
    assert later.failures(path, exercise=False) == []
    path = made_with_logs(tmp_path / "hudi's")
    hudi_changes(later, path, to)
    assert not logs_of(path)
    options = {**OWN, **LOGGED, "hoodie.write.table.version": str(to)}
    write(path, SCENARIO.batch(range(8), 12), "upsert", options)
    assert check(later, path)
    if to == 9:
        we_change(path, 8)
        assert check(later, path)
