"""Keyed rows on their way through a sort, with the records among them that cannot be written.

Rows of a sort may be keyed more than once, to find its ranges first. What failed is therefore
saved by the tasks behind the sort, to which it comes as rows of its own.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.pipeline.batch.failed import FailedRecords
from pyhudi.pipeline.batch.keying import Keying, keyed_batches
from pyhudi.schema.columns import one_array
from pyhudi.schema.evolution.reconcile import reconcile
from pyhudi.schema.metafields import PARTITION_PATH
from pyhudi.schema.microseconds import in_microseconds
from pyhudi.write.failed import FAILED_SCHEMA
from pyhudi.write.sorted_rows import Keyed

_FAILED_FIELDS: Final = [
    pa.field(f"_pyhudi_failed_{field.name}", field.type) for field in FAILED_SCHEMA
]
_FAILED_NAMES: Final = [field.name for field in _FAILED_FIELDS]
_CAUSE: Final = f"_pyhudi_failed_{FAILED_SCHEMA.field('cause').name}"


def sorting_schema(keying: Keying) -> pa.Schema:
    """The partition path, the keyed row, and where failed records are saved the columns of one.

    A row is either: a failed record has null in all of the others.
    """
    fields = [pa.field(PARTITION_PATH, pa.string()), *keying.schema]
    if keying.failures.is_saving:
        fields = [*(field.with_nullable(nullable=True) for field in fields), *_FAILED_FIELDS]
    return in_microseconds(pa.schema(fields))


def keyed_for_sort(
    chunks: Iterator[pa.Table], keying: Keying, task: int
) -> Iterator[pa.RecordBatch]:
    """Key what a task reads of the source, chunk by chunk.

    Shapes: gives ``sorting_schema``.
    Raises: where failed records are not saved, the error that says how many there are, before
        anything is written.
    """
    schema = sorting_schema(keying)
    failed = FailedRecords(keying.failures)
    for keyed, paths in keyed_batches(chunks, keying, failed, task):
        for records in failed.take():
            yield from reconcile(records.rename_columns(_FAILED_NAMES), schema).to_batches()
        yield from reconcile(keyed.add_column(0, PARTITION_PATH, paths), schema).to_batches()
    failed.report.refuse_unless(is_saving=keying.failures.is_saving)


def sorted_batches(
    chunks: Iterator[pa.Table], keying: Keying, failed: FailedRecords, task: int
) -> Iterator[Keyed]:
    """Keyed rows and their partition paths as they come out of a sort; the others go to ``failed``.

    Not: ``task``, which ``keyed_batches`` needs, makes no difference here.

    Shapes: takes ``sorting_schema``.
    """
    del task
    for chunk in chunks:
        rows = chunk
        if keying.failures.is_saving:
            is_failed = pc.is_valid(chunk.column(_CAUSE))
            records = chunk.filter(is_failed).select(_FAILED_NAMES)
            failed.note(records.rename_columns(FAILED_SCHEMA.names).cast(FAILED_SCHEMA))
            rows = chunk.filter(pc.invert(is_failed))
        paths = one_array(rows.column(PARTITION_PATH))
        yield rows.select(keying.schema.names).cast(keying.schema), paths
