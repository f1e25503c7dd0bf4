"""A column that the source has not, with one value in all rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

import pyarrow as pa

from pyhudi.config.options.operations import ORDERING_VALUE
from pyhudi.config.options.table import ORDERING_FIELD
from pyhudi.errors import OptionError
from pyhudi.pipeline.batch.source import SourceRows
from pyhudi.runner.runner import SpreadRows, TaskFunction
from pyhudi.runner.task import TaskIdentity

_TIME = pa.timestamp("us", tz="UTC")


@dataclass(frozen=True, slots=True, kw_only=True)
class WithColumn:
    """Rows of a source with one more column at their end, the same value in each."""

    rows: SourceRows
    field: pa.Field
    value: pa.Scalar

    @property
    def schema(self) -> pa.Schema:
        """The columns of the source, and the one that is added."""
        return self.rows.schema.append(self.field)

    def map(self, function: TaskFunction, schema: pa.Schema) -> SpreadRows:
        """What a function makes of the rows of each task."""
        field, value = self.field, self.value

        def widen_and_map(
            task: TaskIdentity, batches: Iterator[pa.RecordBatch]
        ) -> Iterator[pa.RecordBatch]:
            yield from function(task, (_widened(batch, field, value) for batch in batches))

        return self.rows.map(widen_and_map, schema)

    def in_large_tasks(self, most_bytes: int) -> WithColumn:
        """The same rows in the same order, in fewer tasks where that can be chosen."""
        return replace(self, rows=self.rows.in_large_tasks(most_bytes))

    def with_dictionaries(self, names: Iterable[str]) -> WithColumn:
        """The same rows, text columns among ``names`` dictionary-encoded where they lie so."""
        return replace(self, rows=self.rows.with_dictionaries(names))


def with_ordering_value(rows: SourceRows, options: Mapping[str, str]) -> SourceRows:
    """The rows with the ordering column that the options give a value, as they are without one.

    Raises:
        OptionError: there is not one ordering field, or the source has its column.
    """
    value = ORDERING_VALUE.read(options)
    if value is None:
        return rows
    fields = ORDERING_FIELD.read(options) or ()
    if len(fields) != 1:
        raise OptionError(
            f"{ORDERING_VALUE.key} is the value of one ordering field, and {ORDERING_FIELD.key} "
            f"names {', '.join(fields) or 'none'}"
        )
    (name,) = fields
    if name in rows.schema.names:
        raise OptionError(
            f"the source has the column {name}, and {ORDERING_VALUE.key} would give it the value "
            f"{value.isoformat()} in all rows; leave one of them out"
        )
    return WithColumn(rows=rows, field=pa.field(name, _TIME), value=pa.scalar(value, _TIME))


def _widened(batch: pa.RecordBatch, field: pa.Field, value: pa.Scalar) -> pa.RecordBatch:
    column = pa.repeat(value, batch.num_rows)
    return batch.append_column(field, column)
