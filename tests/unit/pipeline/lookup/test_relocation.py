"""Keys that come with several partitions, and rows on their way to the task that relocates them."""

from collections.abc import Iterable

import numpy as np
import pyarrow as pa

from pyhudi.pipeline.batch.pieces import KEY_SCHEMA, from_bytes, to_bytes
from pyhudi.pipeline.lookup import relocation
from pyhudi.runner.task import TaskIdentity
from pyhudi.schema.metafields import RECORD_KEY

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


def test_rows_go_to_the_files_they_hit_and_only_homeless_ones_to_a_group() -> None:
    def bytes_of(*positions: int) -> bytes:
        return np.array(positions, dtype=np.int32).tobytes()

    schema = pa.schema([*KEY_SCHEMA, pa.field("v", pa.int64())])
    rows = pa.record_batch([pa.array(["a", "b", "c", "d"]), pa.array([0, 1, 2, 3])], schema=schema)
    piece = pa.record_batch(
        [
            pa.array(["p"]),
            pa.array([7]),
            pa.array([to_bytes(rows)], pa.binary()),
            pa.array([[1, 3, FILES]], pa.list_(pa.int32())),
            pa.array([[bytes_of(0), bytes_of(1), bytes_of(1, 2)]], pa.list_(pa.binary())),
        ],
        names=["partition_path", "piece_id", "rows", "files", "positions"],
    )
    keys = np.arange(2, dtype=np.int32)
    send = relocation._send({1: 0, FILES: 1}, keys, schema, FILES)
    sent = list(send(TASK, iter([piece])))
    found = {
        row.column("group")[0].as_py(): from_bytes(row.column("rows")[0].as_py(), schema)
        for row in sent
    }
    # The row that hits file 3 is an update as ever, so it meets nobody.
    assert {task: part.column(RECORD_KEY).to_pylist() for task, part in found.items()} == {
        0: ["a"],
        1: ["c"],
    }
