"""Rows of the source become rows of the table: record keys, partition paths, the table's types."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import pyarrow as pa

from pyhudi.config.options.failures import FailureConfig
from pyhudi.errors import RequestError
from pyhudi.keys.generated import row_numbers
from pyhudi.keys.generators import KeyGenerator
from pyhudi.merge.ordering import ordering_columns
from pyhudi.pipeline.batch.failed import FailedRecords
from pyhudi.pipeline.batch.pieces import keyed_schema
from pyhudi.schema.evolution.reconcile import reconcile
from pyhudi.write.sorted_rows import Keyed


@dataclass(frozen=True, slots=True, kw_only=True)
class Keying:
    """How rows of the source become rows of the table.

    ``data_schema`` is the table's schema without meta columns, or without any column where only
    keys count, as for deletes. ``ordering_fields`` are those columns that must have a value, and
    ``failures`` says what is done with rows that cannot be written.
    """

    generator: KeyGenerator
    data_schema: pa.Schema
    ordering_fields: tuple[str, ...] = ()
    failures: FailureConfig = field(default_factory=FailureConfig)

    @property
    def schema(self) -> pa.Schema:
        """The record key first, then the data columns."""
        return keyed_schema(self.data_schema)

    @property
    def carried_texts(self) -> tuple[str, ...]:
        """Text columns whose values nothing but the file they are written to looks at.

        These may come dictionary-encoded, and are keyed as they come.
        """
        looked_at = {name.partition(".")[0] for name in self.generator.path_fields}
        looked_at.update(self.generator.key_columns, self.ordering_fields)
        return tuple(
            field.name
            for field in self.data_schema
            if field.type == pa.string() and field.nullable and field.name not in looked_at
        )

    def key_rows(
        self, rows: pa.Table, *, task: int, first_row: int
    ) -> tuple[pa.Table, pa.StringArray]:
        """The keyed rows of a batch and their partition paths.

        ``first_row`` counts the rows that the task of this number has keyed before. In a table that
        makes up its record keys, a key lacks its instant yet.

        Raises:
            RecordKeyError: null or empty keys.
            RequestError: null ordering values.
        """
        paths = self.generator.partition_paths(rows)
        if self.generator.generates_keys:
            keys = row_numbers(task, first_row, rows.num_rows)
        else:
            keys = self.generator.record_keys(rows)
        ordering = ordering_columns(rows, self.ordering_fields)
        for name, column in zip(self.ordering_fields, ordering, strict=True):
            _check_ordering(column, name)
        names = self.data_schema.names
        data = (
            reconcile(rows, self.data_schema, keep_dictionaries=True) if names else rows.select([])
        )
        schema = keyed_schema(data.schema)
        return pa.Table.from_arrays([keys, *data.columns], schema=schema), paths


def keyed_batches(
    chunks: Iterator[pa.Table], keying: Keying, failed: FailedRecords, task: int
) -> Iterator[Keyed]:
    """Keyed rows and their partition paths, chunk by chunk of what a task reads of the source.

    Rows that cannot be written go to ``failed``; only a chunk that cannot be keyed is searched for
    them. Once they are fatal no more rows come, and the rest of the chunks is searched alone.

    Raises: what ``Keying.key_rows`` raises, unless single rows are to blame.
    """
    count = 0
    for chunk in chunks:
        try:
            keyed = keying.key_rows(chunk, task=task, first_row=count)
        except RequestError:
            fine = failed.without(
                chunk,
                generator=keying.generator,
                schema=keying.data_schema,
                ordering_fields=keying.ordering_fields,
            )
            keyed = keying.key_rows(fine, task=task, first_row=count)
        if not failed.is_fatal:
            yield keyed
        count += chunk.num_rows


def _check_ordering(column: pa.ChunkedArray, name: str) -> None:
    if column.null_count:
        raise RequestError(
            f"{column.null_count} rows have no value in the ordering column {name}; "
            "fill it or leave the rows out"
        )
