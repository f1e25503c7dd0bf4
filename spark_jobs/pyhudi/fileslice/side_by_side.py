"""Two files whose rows belong together by position, read as one.

A skeleton has the meta columns, a source the others. The source is opened when a column of it is
asked for, so that keys are read without it; of the skeleton then no more than the footer is read.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from itertools import accumulate
from typing import TYPE_CHECKING, TypeAlias

import pyarrow as pa

from pyhudi.basefile.condition import RowCondition
from pyhudi.basefile.footer import FooterMetadata
from pyhudi.basefile.parquet import BATCH_ROWS
from pyhudi.errors import BootstrapSourceError
from pyhudi.schema.metafields import META_FIELDS

if TYPE_CHECKING:
    from pyhudi.basefile.open import BaseFileReader

Span: TypeAlias = tuple[int, int]
"""Rows of a file from the first to before the last, by their numbers."""
Spans: TypeAlias = list[Span]
"""Rising and apart."""


class SideBySideReader:
    """Reads a skeleton and its source as one file; ``name`` is what errors call the source.

    Its row groups are those of the source, as filters prune by them.

    Guarantees: memory is bounded by a batch of each; no row of the source is given unless both
        files have as many.
    Raises: BootstrapSourceError: they have not as many, once rows of the source are asked for.
    Source: HoodieBootstrapRecordIterator, ClosableMergingIterator, Hudi 0.15 and 1.1.
    """

    def __init__(
        self,
        open_skeleton: Callable[[], BaseFileReader],
        open_source: Callable[[], BaseFileReader],
        *,
        name: str,
    ) -> None:
        self._open_skeleton, self._open_source, self._name = open_skeleton, open_source, name

    @cached_property
    def skeleton(self) -> BaseFileReader:
        """The file with the meta columns, opened."""
        return self._open_skeleton()

    @cached_property
    def _source(self) -> BaseFileReader:
        return self._open_source()

    @property
    def group_rows(self) -> Sequence[int]:
        """The rows of each row group of the source."""
        return self._source.group_rows

    @property
    def row_groups(self) -> int:
        """Row groups of the source."""
        return self._source.row_groups

    @property
    def row_count(self) -> int:
        """Rows of the skeleton, as its footer says."""
        return self.skeleton.row_count

    @property
    def schema(self) -> pa.Schema:
        """The meta columns, and those of the source."""
        own = [field for field in self._source.schema if field.name not in META_FIELDS]
        return pa.schema([*self.skeleton.schema, *own])

    @property
    def footer(self) -> FooterMetadata:
        """Hudi's entries of the skeleton's footer."""
        return self.skeleton.footer

    def present(self, names: Sequence[str]) -> list[str]:
        """Those of some columns that either file has, in the order given."""
        meta = [name for name in names if name in META_FIELDS]
        others = [name for name in names if name not in META_FIELDS]
        have = {*(self.skeleton.present(meta) if meta else ())}
        have |= {*(self._source.present(others) if others else ())}
        return [name for name in names if name in have]

    def iter_tables(
        self,
        columns: Sequence[str] | None = None,
        row_groups: Sequence[int] | None = None,
        *,
        batch_rows: int = BATCH_ROWS,
        keep_dictionaries: bool = False,
    ) -> Iterator[pa.Table]:
        """Read the rows in file order, some at a time, of row groups of the source.

        Shapes: the columns asked for that either file has, in the order asked, or all; at most
            ``batch_rows`` rows, in one chunk.
        """
        names = self.present(self.schema.names if columns is None else columns)
        meta = [name for name in names if name in META_FIELDS]
        others = [name for name in names if name not in META_FIELDS]
        if not others:
            spans = None if row_groups is None else _spans(self._checked_groups(), row_groups)
            yield from _rows_in(self.skeleton, meta, spans, batch_rows, keep_dictionaries)
            return
        groups = self._checked_groups()
        source = self._source.iter_tables(
            others, row_groups, batch_rows=batch_rows, keep_dictionaries=keep_dictionaries
        )
        if not meta:
            yield from source
            return
        spans = None if row_groups is None else _spans(groups, row_groups)
        skeleton = _rows_in(self.skeleton, meta, spans, batch_rows, keep_dictionaries)
        for left, right in _paired(skeleton, source, self._name):
            columns_of = {name: left.column(name) for name in meta}
            columns_of |= {name: right.column(name) for name in others}
            yield pa.table({name: columns_of[name] for name in names})

    def matching_row_groups(self, condition: RowCondition) -> list[int]:
        """The row groups of the source that can hold rows which meet a condition.

        Both files' statistics have a say.
        """
        kept = self._source.matching_row_groups(condition)
        if not {*condition.columns} & {*META_FIELDS}:
            return kept
        counts = self._checked_groups()
        meant = _spans(self.skeleton.group_rows, self.skeleton.matching_row_groups(condition))
        starts = [0, *accumulate(counts)]
        return [n for n in kept if _meets(meant, starts[n], starts[n + 1])]

    def check_rows(self) -> None:
        """Open both files, and refuse them unless they have as many rows.

        Raises:
            BootstrapSourceError: they have not.
        """
        self._checked_groups()

    def _checked_groups(self) -> Sequence[int]:
        """The rows of the source's row groups, once it is known that they are the skeleton's."""
        wanted, found = self.skeleton.row_count, self._source.row_count
        if wanted != found:
            raise BootstrapSourceError(
                f"{self._name} has {found:,} rows, and had {wanted:,} when the table was "
                "bootstrapped from it: it has changed since. Put back the file as it was, or "
                "bootstrap the data again"
            )
        return self._source.group_rows


def _meets(spans: Spans, start: int, end: int) -> bool:
    return any(first < end and start < last for first, last in spans)


def _spans(group_rows: Sequence[int], groups: Sequence[int]) -> Spans:
    """The rows of some row groups; neighbours make one span."""
    starts = [0, *accumulate(group_rows)]
    found: Spans = []
    for number in groups:
        start, end = starts[number], starts[number + 1]
        if start == end:
            continue
        if found and found[-1][1] == start:
            found[-1] = found[-1][0], end
        else:
            found.append((start, end))
    return found


def _rows_in(
    reader: BaseFileReader,
    columns: Sequence[str],
    spans: Spans | None,
    batch_rows: int,
    keep_dictionaries: bool,  # noqa: FBT001 - passed on
) -> Iterator[pa.Table]:
    """The rows of a file that lie in some spans, or all of them.

    Of the row groups that have any, others are read and passed by; each row is read once at most.
    """
    if spans is None:
        yield from reader.iter_tables(
            columns, batch_rows=batch_rows, keep_dictionaries=keep_dictionaries
        )
        return
    groups, wanted = _among_groups(reader.group_rows, spans)
    at = 0
    if not wanted:
        return
    for rows in reader.iter_tables(
        columns, groups, batch_rows=batch_rows, keep_dictionaries=keep_dictionaries
    ):
        end = at + rows.num_rows
        while wanted and wanted[0][0] < end:
            first, last = wanted[0]
            begin = max(first, at)
            yield rows.slice(begin - at, min(last, end) - begin)
            if last > end:
                break
            wanted.popleft()
        if not wanted:
            return
        at = end


def _among_groups(group_rows: Sequence[int], spans: Spans) -> tuple[list[int], deque[Span]]:
    """The row groups that have rows of some spans, and where these lie among the rows of those."""
    groups: list[int] = []
    found: deque[Span] = deque()
    left = deque(spans)
    start = before = 0
    for number, count in enumerate(group_rows):
        end = start + count
        if left and left[0][0] < end:
            groups.append(number)
            shift = before - start
            while left and left[0][0] < end:
                if left[0][0] >= start:
                    found.append((left[0][0] + shift, left[0][1] + shift))
                if left[0][1] > end:
                    break
                left.popleft()
            before += count
        start = end
    return groups, found


def _paired(
    left: Iterator[pa.Table], right: Iterator[pa.Table], name: str
) -> Iterator[tuple[pa.Table, pa.Table]]:
    """The rows of both, cut where either is cut."""
    ours, theirs = next(left, None), next(right, None)
    while ours is not None and theirs is not None:
        count = min(ours.num_rows, theirs.num_rows)
        if count:
            yield ours.slice(0, count), theirs.slice(0, count)
        ours = next(left, None) if count == ours.num_rows else ours.slice(count)
        theirs = next(right, None) if count == theirs.num_rows else theirs.slice(count)
    if ours is not None or theirs is not None:
        raise BootstrapSourceError(f"{name} does not hold the rows that its footer counts")
