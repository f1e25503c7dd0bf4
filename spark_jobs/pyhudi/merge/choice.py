"""Two aligned tables become one, value by value."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.schema.columns import Column, Flags, Positions, flags_of, one_array

Step = Callable[[pa.Table, pa.Table], pa.Table]


def choose(first: Column, second: Column, is_first: Flags) -> Column:
    """The values of the first column where the flag says so, else those of the second.

    Shapes: two columns of one type and length.
    """
    if is_first.all():
        return first
    if not is_first.any():
        return second
    # By taking rather than by if_else, which does not know every nested type.
    both = pa.concat_arrays([one_array(first), one_array(second)])
    rows = np.arange(len(is_first))
    return both.take(pa.array(np.where(is_first, rows, rows + len(is_first))))


def choose_rows(first: pa.Table, second: pa.Table, is_first: Flags) -> pa.Table:
    """The rows of the first table where the flag says so, else those of the second."""
    pairs = zip(first.columns, second.columns, strict=True)
    columns = [choose(left, right, is_first) for left, right in pairs]
    return pa.Table.from_arrays(columns, schema=first.schema)


def is_present(column: Column) -> Flags:
    """Whether each value is there, that is not null."""
    return flags_of(pc.is_valid(column))


def filled(upper: Column, lower: Column) -> Column:
    """The values of the upper column, and those of the lower one where it has none."""
    return upper if not upper.null_count else choose(upper, lower, is_present(upper))


def fold(rows: pa.Table, keys: Column, step: Step) -> pa.Table:
    """The rows of each key joined into one, in their order of arrival.

    ``step`` joins aligned tables: the rows before as they are joined, and the next row of each
    key. It runs as often as the commonest key has rows.

    Shapes: a row a key, in the order in which the keys' last rows arrived.
    """
    codes = pc.dictionary_encode(one_array(keys)).indices.to_numpy()
    counts = np.bincount(codes)
    # Keys of many rows first: those that a round concerns are then the first rows of the table.
    by_count = np.argsort(-counts, kind="stable")
    order = np.argsort(codes, kind="stable").astype(np.int64)
    starts = (np.cumsum(counts) - counts)[by_count]
    counts = counts[by_count]
    joined = pa.concat_tables(_finished(rows, order, starts, counts, step))
    # The pieces came fewest rows first; within a piece the order of the keys is kept.
    last_rows = order[starts + counts - 1]
    emitted = np.concatenate(list(_emission(counts)))
    return joined.take(pa.array(np.argsort(last_rows[emitted], kind="stable")))


def _emission(counts: Positions) -> Iterator[Positions]:
    for rank in range(1, int(counts[0]) + 1):
        yield np.flatnonzero(counts == rank)


def _finished(
    rows: pa.Table, order: Positions, starts: Positions, counts: Positions, step: Step
) -> Iterator[pa.Table]:
    joined = rows.take(pa.array(order[starts]))
    for rank in range(1, int(counts[0])):
        active = int(np.count_nonzero(counts > rank))
        yield joined.slice(active)
        following = rows.take(pa.array(order[starts[:active] + rank]))
        joined = step(joined.slice(0, active), following)
    yield joined
