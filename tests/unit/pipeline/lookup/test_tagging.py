"""Which task looks for which keys in which files."""

import pytest

from pyhudi.pipeline.batch.matches import KeyMatches, MatchCount
from pyhudi.pipeline.batch.staging import PieceInfo
from pyhudi.pipeline.lookup.tagging import TaggedBatch, plan_lookup
from tests.support.slices import base_of

PARTITIONS = ("p", "q", "r")
SIZE = 40 << 20
FILES = [base_of(f"f{number}-0", SIZE, PARTITIONS[number % 3]) for number in range(9)]
PIECES = [
    PieceInfo(partition_path=partition, piece_id=number, count_rows=400_000)
    for number, partition in enumerate(("p", "q", "p", "p", "new"))
]


def pairs(*, is_global: bool) -> list[tuple[int, int]]:
    tasks = plan_lookup(PIECES, FILES, parallelism=2, is_global=is_global)
    searches = [search for task in tasks for search in task]
    return [
        (piece, file) for search in searches for piece in search.pieces for file in search.files
    ]


@pytest.mark.parametrize("is_global", [False, True])
def test_every_piece_is_looked_for_once_in_every_file_that_may_have_its_keys(is_global: bool):
    wanted = [
        (piece.piece_id, number)
        for piece in PIECES
        for number, each in enumerate(FILES)
        if is_global or each.partition == piece.partition_path
    ]
    assert sorted(pairs(is_global=is_global)) == wanted


def test_no_task_holds_more_than_a_million_keys_though_they_are_looked_for_everywhere() -> None:
    rows = {piece.piece_id: piece.count_rows for piece in PIECES}
    for task in plan_lookup(PIECES, FILES, parallelism=2, is_global=True):
        held = {piece for search in task for piece in search.pieces}
        assert sum(rows[piece] for piece in held) <= 1_000_000


def test_rows_of_keys_that_only_meet_in_a_group_are_no_updates() -> None:
    found = [(0, 0, 4), (0, 1, 2), (1, 1, 3), (1, 9, 5)]
    counts = (MatchCount(piece=piece, file=file, count_rows=rows) for piece, file, rows in found)
    matches = KeyMatches(counts=tuple(counts), at_hand={}, held=())
    tagged = TaggedBatch(files=tuple(FILES), matches=matches, groups=frozenset({9}))
    assert (tagged.updates(), tagged.matched_rows()) == ({0: 4, 1: 5}, {0: 6, 1: 8})
    assert tagged.matched_files() == {0: 2, 1: 2}
