"""Keys that come with several partitions, on their way to the task that relocates them."""

from collections.abc import Iterable

import numpy as np
import pyarrow as pa

from pyhudi.pipeline.batch.pieces import KEY_SCHEMA, to_bytes
from pyhudi.pipeline.lookup import relocation
from pyhudi.runner.task import TaskIdentity

FILES = 5
TASK = TaskIdentity(partition_id=0, stage_id=0, attempt_id=0)
PIECES = [(0, "p", ["a", "b", "c"]), (1, "q", ["b", "x"]), (2, "q", ["x", "c", "c"])]


def packed(keys: Iterable[str]) -> bytes:
    return to_bytes(pa.record_batch([pa.array(list(keys))], schema=KEY_SCHEMA))


def staged_keys() -> pa.RecordBatch:
    columns = [
        pa.array([piece[0] for piece in PIECES]),
        pa.array([piece[1] for piece in PIECES]),
        pa.array([packed(piece[2]) for piece in PIECES], pa.binary()),
    ]
    return pa.record_batch(columns, names=["piece_id", "partition_path", "keys"])


def test_keys_of_several_partitions_are_found_whatever_group_they_meet_in() -> None:
    for groups in (1, 2, 7):
        spread_keys = relocation._spread_keys(np.arange(groups, dtype=np.int32))
        spread = list(spread_keys(TASK, iter([staged_keys()])))
        matches: dict[int, set[int]] = {}
        for group in range(groups):
            arrived = [row for row in spread if row.column("group")[0].as_py() == group]
            for match in relocation._contest(FILES)(TASK, iter(arrived)):
                assert match.column("file")[0].as_py() == FILES + group
                positions = np.frombuffer(match.column("positions")[0].as_py(), dtype=np.int32)
                matches.setdefault(match.column("match_piece")[0].as_py(), set()).update(positions)
        assert matches == {0: {1, 2}, 1: {0}, 2: {1, 2}}
