"""Which record of a key stands."""

import random
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pytest

from pyhudi.logfile.merge.survivors import Arrivals, surviving_records


@dataclass(frozen=True)
class Record:
    """One record as a test writes it: a row of an ordering value, or a delete."""

    key: int
    ordering: int | None
    kind: str = "row"

    @property
    def is_final(self) -> bool:
        return self.kind == "final"


def survivors(records: list[Record], *, is_ordered: bool = True) -> list[int]:
    orderings = [pa.array([record.ordering for record in records], pa.int64())]
    arrivals = Arrivals(
        codes=np.array([record.key for record in records], dtype=np.int32),
        orderings=orderings if is_ordered else [],
        is_delete_record=np.array([record.kind != "row" for record in records]),
        is_final=np.array([record.is_final for record in records]),
    )
    return surviving_records(arrivals).tolist()


def one_by_one(records: list[Record]) -> list[int]:
    """The same, record after record, as Hudi's record buffer does it."""
    stands: dict[int, int] = {}
    for at, record in enumerate(records):
        if record.key not in stands:
            stands[record.key] = at
            continue
        existing = records[stands[record.key]]
        if record.kind == "row":
            wins = existing.is_final or record.ordering >= existing.ordering
        elif existing.is_final:
            wins = record.is_final  # Hudi keeps the first, which says the same.
        else:
            wins = record.is_final or record.ordering >= existing.ordering
        if wins:
            stands[record.key] = at
    return sorted(stands.values())


def test_without_ordering_the_last_record_of_each_key_stands() -> None:
    records = [Record(0, 9), Record(1, 1), Record(0, 2), Record(1, None, "final")]
    assert survivors(records, is_ordered=False) == [2, 3]


GONE = Record(0, None, "final")


@pytest.mark.parametrize(
    ("records", "stands"),
    [
        pytest.param([Record(0, 2), Record(0, 3), Record(0, 1)], 1, id="highest_ordering_value"),
        pytest.param([Record(0, 3), Record(0, 3), Record(0, 1)], 1, id="of_equal_ones_the_last"),
        pytest.param([Record(0, 2), Record(0, 1, "delete")], 0, id="delete_is_weighed_and_older"),
        pytest.param([Record(0, 2), Record(0, 2, "delete")], 1, id="delete_is_weighed_and_equal"),
        pytest.param([Record(0, 5, "delete"), Record(0, 4)], 0, id="row_is_older_than_a_delete"),
        pytest.param([Record(0, 9), GONE], 1, id="final_delete_ends_what_came_before"),
        pytest.param([Record(0, 9), GONE, Record(0, 1)], 2, id="final_delete_ends_nothing_after"),
        pytest.param([GONE, Record(0, 9, "delete"), Record(0, 1)], 2, id="row_after_two_deletes"),
        pytest.param([GONE, Record(0, 9, "delete")], 0, id="delete_after_a_final_one"),
        pytest.param([Record(0, 1), Record(0, None)], 0, id="row_without_value_is_the_oldest"),
        pytest.param([Record(0, None), Record(0, 1)], 1, id="row_without_value_came_before"),
    ],
)
def test_one_record_of_a_key_stands(records: list[Record], stands: int) -> None:
    assert survivors(records) == [stands]


@pytest.mark.parametrize("seed", range(200))
def test_any_sequence_comes_to_what_it_comes_to_one_by_one(seed: int) -> None:
    chance = random.Random(seed)
    kinds = ["row", "row", "row", "delete", "final"]
    records = []
    for _ in range(chance.randint(1, 60)):
        kind = chance.choice(kinds)
        ordering = None if kind == "final" else chance.randint(0, 5)
        records.append(Record(chance.randint(0, chance.randint(0, 8)), ordering, kind))
    assert survivors(records) == one_by_one(records)
