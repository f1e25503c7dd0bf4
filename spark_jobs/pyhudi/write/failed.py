"""Records that cannot be written: which ones, why, and the files they are saved in."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import Final

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pyhudi.keys.generators import KeyGenerator
from pyhudi.runner.task import TaskIdentity
from pyhudi.schema.columns import Flags, flags_of
from pyhudi.schema.evolution.misfits import misfit_rows
from pyhudi.schema.row_json import row_json
from pyhudi.storage.storage import Storage, located_output

FAILED_SCHEMA: Final = pa.schema(
    [
        pa.field("record_key", pa.string()),
        pa.field("cause", pa.string(), nullable=False),
        pa.field("row", pa.string(), nullable=False),
    ]
)
"""A failed record on its way: its key if it has one, why it failed, the row as JSON."""

SAVED_SCHEMA: Final = pa.schema(
    [
        *list(FAILED_SCHEMA)[:2],
        pa.field("instant", pa.string(), nullable=False),
        FAILED_SCHEMA.field("row"),
    ]
)
"""A failed record as it is saved, with the instant of the write."""

KEY_CAUSE: Final = "no record key"
PATH_CAUSE: Final = "no partition path"
ORDERING_CAUSE: Final = "no ordering value"


@dataclass(frozen=True, slots=True, kw_only=True)
class FailedRows:
    """The rows of a batch that cannot be written.

    Shapes: ``is_failed`` has one entry per row of the batch; ``keys``, null without a key, and
        ``causes`` have one per failed row.
    """

    is_failed: Flags
    keys: pa.StringArray
    causes: pa.StringArray

    def records(self, rows: pa.Table) -> pa.Table:
        """The failed ones of the batch's rows.

        Shapes: ``FAILED_SCHEMA``.
        """
        failed = rows.filter(pa.array(self.is_failed))
        columns = [self.keys, self.causes, row_json(failed)]
        return pa.Table.from_arrays(columns, schema=FAILED_SCHEMA)


def find_failed(
    rows: pa.Table, generator: KeyGenerator, schema: pa.Schema, ordering_fields: Sequence[str]
) -> FailedRows | None:
    """The rows of a batch that lack a key, path or ordering value, or hold one that does not fit.

    Of several causes a row has the first. None when every row can be written as far as is known
    here.

    Shapes: ``schema`` is the table's without meta columns, empty where only keys count.
    """
    codes = np.full(rows.num_rows, -1, dtype=np.int32)
    causes: list[str] = []
    no_key = generator.keyless(rows)
    for cause, mask in _causes(rows, no_key, generator, schema, ordering_fields):
        codes[(codes < 0) & mask] = len(causes)
        causes.append(cause)
    is_failed = codes >= 0
    if not is_failed.any():
        return None
    return FailedRows(
        is_failed=is_failed,
        keys=_keys(rows, generator, is_failed, no_key),
        causes=pa.array(causes, pa.string()).take(pa.array(codes[is_failed])),
    )


class FailedFile:
    """A Parquet file of failed records of one attempt of a task; made with the first of them.

    Whether it counts, ``keep_saved`` says later.
    """

    def __init__(self, storage: Storage, instant: str, task: TaskIdentity) -> None:
        self._storage, self._instant = storage, instant
        self._file_name = f"{instant}_{task.write_token}.parquet"
        self._writer: pq.ParquetWriter | None = None

    def __enter__(self) -> FailedFile:
        return self

    def __exit__(self, kind: object, error: object, trace: object) -> None:
        if self._writer is not None:
            with self._located():
                self._writer.close()
                self._sink.close()

    @property
    def name(self) -> str | None:
        """The file's name; None when there were no records."""
        return None if self._writer is None else self._file_name

    def write(self, records: pa.Table) -> None:
        """Add records.

        Shapes: ``FAILED_SCHEMA``.
        """
        if self._writer is None:
            self._sink = self._storage.open_output(self._file_name)
            with self._located():
                self._writer = pq.ParquetWriter(self._sink, SAVED_SCHEMA)
        instants = pa.array([self._instant]).take(pa.repeat(0, records.num_rows))
        key, cause, row = records.columns
        with self._located():
            self._writer.write_table(pa.table([key, cause, instants, row], schema=SAVED_SCHEMA))

    def _located(self) -> AbstractContextManager[None]:
        return located_output(self._storage.absolute(self._file_name))


def keep_saved(storage: Storage, instant: str, names: Iterable[str]) -> None:
    """Delete what attempts of an instant's tasks saved that do not count."""
    kept = set(names)
    storage.delete_all(
        file.path
        for file in storage.list("")
        if file.name.startswith(f"{instant}_") and file.name not in kept
    )


def _causes(
    rows: pa.Table,
    no_key: Flags,
    generator: KeyGenerator,
    schema: pa.Schema,
    ordering_fields: Sequence[str],
) -> Iterator[tuple[str, Flags]]:
    yield f"{KEY_CAUSE}: {', '.join(generator.record_key_fields)} null or empty", no_key
    for name, mask in generator.pathless(rows).items():
        yield f"{PATH_CAUSE}: {name} is not in the input format", flags_of(mask)
    for name in ordering_fields:
        if name in rows.schema.names:
            yield f"{ORDERING_CAUSE}: {name} null", flags_of(rows.column(name).is_null())
    yield from misfit_rows(rows, schema)


def _keys(
    rows: pa.Table, generator: KeyGenerator, is_failed: Flags, no_key: Flags
) -> pa.StringArray:
    has_key = is_failed & ~no_key
    keys = pa.nulls(rows.num_rows, pa.string())
    if generator.record_key_fields and has_key.any():
        mask = pa.array(has_key)
        keys = pc.replace_with_mask(keys, mask, generator.record_keys(rows.filter(mask)))
    return keys.filter(pa.array(is_failed))
