"""Rows that come sorted by partition path and record key, one a key."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import TypeAlias

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from pyhudi.schema.metafields import RECORD_KEY
from pyhudi.write.context import WriteContext
from pyhudi.write.incoming import IncomingRows

Keyed: TypeAlias = tuple[pa.Table, pa.StringArray]
"""Rows, the record key first, and their partition paths."""


def combine_sorted(batches: Iterator[Keyed], context: WriteContext) -> Iterator[Keyed]:
    """The rows that count for their keys; deletes are left out.

    Shapes: each yielded table holds rows of one partition path. Rows of one key come in the order
        of their arrival, within a batch and over batches.
    Guarantees: holds a batch and the rows of one key.
    """
    held: Keyed | None = None
    for rows, paths in batches:
        if not rows.num_rows:
            continue
        if held is not None:
            rows = pa.concat_tables([held[0], rows])
            paths = pa.concat_arrays([held[1], paths])
        start = _last_run(rows.column(RECORD_KEY), paths)
        yield from _combined(rows.slice(0, start), paths.slice(0, start), context)
        held = rows.slice(start), paths.slice(start)
    if held is not None:
        yield from _combined(*held, context)


def _last_run(keys: pa.ChunkedArray, paths: pa.StringArray) -> int:
    """Where the rows of the last key begin."""
    is_last = pc.and_(pc.equal(keys, keys[-1]), pc.equal(paths, paths[-1]))
    return len(keys) - int(pc.sum(is_last).as_py())


def _combined(rows: pa.Table, paths: pa.StringArray, context: WriteContext) -> Iterator[Keyed]:
    codes = pc.dictionary_encode(paths).indices.to_numpy()
    bounds = [0, *(np.flatnonzero(np.diff(codes)) + 1).tolist(), len(codes)]
    for start, end in itertools.pairwise(bounds):
        incoming = IncomingRows.gather(rows.slice(start, end - start), context)
        kept = incoming.rows
        if incoming.is_delete is not None:
            kept = kept.filter(pa.array(~incoming.is_delete))
        if kept.num_rows:
            yield kept, pa.array([paths[start].as_py()] * kept.num_rows, pa.string())
