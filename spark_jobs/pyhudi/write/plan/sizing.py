"""How large records are, and how much room files have. Pure."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

MINIMUM_RECORDS = 10_000


@dataclass(frozen=True, slots=True, kw_only=True)
class CommitTotals:
    """What one commit wrote, over all its files."""

    records: int
    size_bytes: int


def average_record_size(
    newest_first: Iterable[CommitTotals], *, estimate_bytes: int, threshold_bytes: float
) -> int:
    """Bytes a record takes in a base file, learnt from the latest commits.

    The newest commit of more than ``threshold_bytes`` tells. When none is that large, the newest
    of at least ``MINIMUM_RECORDS`` records does: below that a file's fixed part (its bloom filter
    alone takes 400 KB) hides the size of the records. When there is neither, the estimate is kept.

    Units: bytes per record, at least 1.
    Source: AverageRecordSizeUtils, Hudi 0.15 (the rule of the threshold).
    """
    smaller = None
    for totals in newest_first:
        if totals.records <= 0 or totals.size_bytes <= 0:
            continue
        if totals.size_bytes > threshold_bytes:
            return _average(totals)
        if smaller is None and totals.records >= MINIMUM_RECORDS:
            smaller = totals
    return _average(smaller) if smaller else max(1, estimate_bytes)


def room_rows(size_bytes: int, *, max_file_size_bytes: int, record_size_bytes: int) -> int:
    """How many more records a base file of this size takes.

    Source: UpsertPartitioner.assignInserts, Hudi 0.15 and 1.1.
    """
    return max(0, (max_file_size_bytes - size_bytes) // record_size_bytes)


def _average(totals: CommitTotals) -> int:
    return max(1, math.ceil(totals.size_bytes / totals.records))
