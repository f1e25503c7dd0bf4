"""Which files outside a table a clean may delete, whatever its plan names."""

from pathlib import Path

from pyhudi.actions.clean import CleanPlan
from pyhudi.services.clean_sources import delete_sources, unneeded_sources
from pyhudi.table.bootstrap_index import drop_bootstrap_index
from pyhudi.table.table import load_table
from tests.support.bootstrapped import Source, bootstrap
from tests.support.memory import MemoryStorage
from tests.support.orders import orders

ROWS = orders(("a", "x", 1, "old")).drop_columns(["part"])
NAMES = ("f.parquet", "g.parquet")


def made(folder: Path) -> tuple[MemoryStorage, dict[str, str]]:
    """A table of skeletons, and the URI of each source by the name of its skeleton."""
    storage = MemoryStorage()
    bootstrap(storage, folder, [Source(partition="x", rows=ROWS, name=name) for name in NAMES])
    files = load_table(storage).latest_base_files()
    return storage, {file.name: file.source.uri for file in files if file.source is not None}


def plan_of(**sources: tuple[str, ...]) -> CleanPlan:
    return CleanPlan(earliest=None, last_completed="", policy="", paths={}, sources=sources)


def test_what_the_table_reads_still_stays(tmp_path: Path) -> None:
    storage, uris = made(tmp_path)
    (first, gone), (kept, _) = uris.items()
    plan = plan_of(x=tuple(uris.values()))
    assert unneeded_sources(storage, plan, {kept}) == {"x": (gone,)}
    assert unneeded_sources(storage, plan, uris.keys()) == {}
    later = first.replace("00000000000001", "20260102030405678")
    assert unneeded_sources(storage, plan, {later}) == plan.sources


def test_what_the_index_does_not_name_stays(tmp_path: Path) -> None:
    storage, uris = made(tmp_path)
    others = tuple(f"file:{tmp_path}/{name}" for name in ("precious", "x", ""))
    plan = plan_of(x=(*others, *uris.values()), y=tuple(uris.values()))
    assert unneeded_sources(storage, plan, ()) == {"x": tuple(uris.values())}
    drop_bootstrap_index(storage)
    assert unneeded_sources(storage, plan, ()) == {}


def test_a_source_is_deleted_once_and_absent_is_fine(tmp_path: Path) -> None:
    storage, uris = made(tmp_path)
    first, *_ = uris.values()
    for _ in range(2):
        delete_sources(storage, [first])
    left = {f"file:{path}" for path in tmp_path.rglob("*.parquet")}
    assert left == set(uris.values()) - {first}
