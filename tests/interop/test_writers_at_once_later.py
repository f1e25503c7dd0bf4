"""Ours and real Hudi's writers at once on tables of versions 8 and 9, under Hudi's lock file.

Of the tests of version 6 each release has some, and all with PYHUDI_POINTS=all.
"""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

import pyhudi
from pyhudi.jobs.compaction import CompactionRequest
from pyhudi.pipeline.compaction import compact_table
from tests.interop import test_writers_at_once as at_once
from tests.interop.hudi import RealHudi
from tests.interop.test_writers_at_once import HUDIS, LOCKED, assert_rows, rows_of, write
from tests.support.orders import DUE, HERE, orders
from tests.support.points import IS_WHOLE

VERSION_OF = {"1.0.2": "8", "1.1.1": "9", "1.2.0": "9"}
TURNS = at_once.test_they_take_turns_and_meet
TAKEN_BACK = at_once.test_a_commit_that_is_taken_back_leaves_a_table_for_both
MANY = at_once.test_of_many_at_once_whatever_is_acknowledged_is_there
KINDS = {"logged": at_once.TYPES["logged"], "rewritten": at_once.TYPES["rewritten"]}
SOME = [
    ("1.0.2", "logged", MANY),
    ("1.1.1", "logged", TURNS),
    ("1.2.0", "rewritten", MANY),
]
ALL = [
    (release, kind, test)
    for release in VERSION_OF
    for kind in KINDS
    for test in (TURNS, TAKEN_BACK, MANY)
]


def options_for(hudi: RealHudi, kind: str) -> dict[str, str]:
    return {**KINDS[kind], **LOCKED, "hoodie.write.table.version": VERSION_OF[hudi.version]}


@pytest.mark.parametrize(
    ("hudi", "kind", "test"),
    ALL if IS_WHOLE else SOME,
    indirect=["hudi"],
    scope="session",
    ids=lambda each: getattr(each, "__name__", each),
)
def test_writers_of_both_on_a_table_of_a_later_version(
    hudi: RealHudi, kind: str, test: at_once.Callable[..., None], tmp_path: Path
) -> None:
    test(tmp_path, hudi, options_for(hudi, kind))
    table = pyhudi.open_table(str(tmp_path / "orders"))
    assert str(table.config.version.value) == VERSION_OF[hudi.version]
    ends = [each.completion_time for each in _in_order_of_files(tmp_path / "orders")]
    assert ends == sorted(ends), "completion times rise in the order in which instants appear"


def _in_order_of_files(path: Path) -> Iterator[pyhudi.timeline.instant.Instant]:
    table = pyhudi.open_table(str(path))
    done = table.timeline.write_instants().completed()
    files = {found.instant: found.written for found in table.active.state_files()}
    return iter(sorted(done, key=lambda each: (files[each], each.completion_time)))


@pytest.mark.parametrize("hudi", ["1.1.1"], indirect=True, scope="session")
def test_a_compaction_of_hudis_beside_a_write_of_ours_hides_nothing(
    hudi: RealHudi, tmp_path: Path
) -> None:
    """Hudi plans whatever others write, and runs the plan before ours has ended."""
    path, options = tmp_path / "orders", options_for(hudi, "logged")
    write(path, orders(("a", "x", 1, "o"), ("b", "x", 1, "o")), options)
    compacting = {
        **HUDIS,
        "hoodie.compact.inline": "true",
        "hoodie.compact.inline.max.delta.commits": "1",
    }
    rows = orders(("b", "x", 2, "h"))
    done = write(
        path,
        orders(("a", "x", 3, "o")),
        options,
        meanwhile=partial(hudi.write, path, rows, options=compacting),
    )
    assert (done.conflicts, done.anomaly) == (1, None)
    wanted = {"a": (3, "o"), "b": (2, "h")}
    assert_rows(path, hudi, wanted)
    assert list((path / ".hoodie" / "timeline").glob("*.commit")), "a compaction has run"
    request = CompactionRequest(
        base_path=str(path), mode="schedule-and-execute", hoodie_conf={**LOCKED, **DUE}
    )
    assert compact_table(HERE, request).status == "committed"
    assert rows_of(hudi.read_arrow(path, optimized=True)) == wanted
    hudi.write(path, orders(("a", "x", 4, "h")), options=HUDIS)
    assert_rows(path, hudi, {**wanted, "a": (4, "h")})
    assert hudi.failures(path) == []
