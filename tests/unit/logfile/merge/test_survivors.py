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


def test_the_highest_ordering_value_stands_of_equal_ones_the_last() -> None:
    assert survivors([Record(0, 2), Record(0, 3), Record(0, 1)]) == [1]
    assert survivors([Record(0, 3), Record(0, 3), Record(0, 1)]) == [1]


def test_a_delete_with_an_ordering_value_is_weighed() -> None:
    assert survivors([Record(0, 2), Record(0, 1, "delete")]) == [0]
    assert survivors([Record(0, 2), Record(0, 2, "delete")]) == [1]
    assert survivors([Record(0, 5, "delete"), Record(0, 4)]) == [0]


def test_a_final_delete_ends_what_came_before_and_nothing_after() -> None:
    assert survivors([Record(0, 9), Record(0, None, "final")]) == [1]
    assert survivors([Record(0, 9), Record(0, None, "final"), Record(0, 1)]) == [2]


def test_a_delete_directly_behind_a_final_one_changes_nothing() -> None:
    records = [Record(0, None, "final"), Record(0, 9, "delete"), Record(0, 1)]
    assert survivors(records) == [2]
    assert survivors(records[:2]) == [0]


def test_a_row_without_ordering_value_is_the_oldest() -> None:
    assert survivors([Record(0, 1), Record(0, None)]) == [0]
    assert survivors([Record(0, None), Record(0, 1)]) == [1]


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
