"""Operations that hide whole file groups: what they hide, and hiding without writing."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from pyhudi.errors import ConflictError
from pyhudi.jobs import JobResult
from pyhudi.spark.work import Replaced, Work
from pyhudi.table.table import Table
from pyhudi.transaction.clustering import pending_clustering_groups
from pyhudi.transaction.transaction import Transaction
from pyhudi.write.plan.replacing import matching_partitions, replaced_file_ids, replaced_partitions

_log = logging.getLogger(__name__)


def replaced_groups(work: Work, table: Table, batch: Sequence[str]) -> Replaced | None:
    """The file groups that the write hides; None when its operation hides none.

    Shapes: ``batch`` has the partition paths that rows are written to, or that are to be deleted.

    Raises:
        ConflictError: some of them are under a pending clustering.
    Source: SparkDeletePartitionCommitActionExecutor.checkPreconditions, Hudi 0.15.
    """
    config = work.config
    if not config.recorded_operation.replaces:
        return None
    partitions = replaced_partitions(
        config.recorded_operation,
        batch=batch,
        static=config.batch.static_partitions,
        existing=table.partitions(),
    )
    found = replaced_file_ids(partitions, table.latest_slices(partitions))
    claimed = pending_clustering_groups(table.storage, table.config.version, table.timeline)
    blocked = sorted(claimed & {(path, group) for path, ids in found.items() for group in ids})
    if blocked:
        raise ConflictError(
            f"{len(blocked)} file groups to replace are under a pending clustering, the first is "
            f"{'/'.join(blocked[0])}; let the clustering end and retry",
            where=table.storage.uri,
        )
    return found


def delete_partitions(
    work: Work, asked: Sequence[str], transaction: Transaction, table: Table
) -> JobResult:
    """Hide every file group of the partitions that the paths and patterns mean."""
    partitions = matching_partitions(asked, table.partitions())
    if not partitions:
        _log.warning("%s has no partition %s", table.config.name, ", ".join(asked))
    replaced = replaced_groups(work, table, partitions)
    if not work.is_nothing((), replaced):
        transaction.start(work.metadata({}).to_bytes())
    return work.commit(transaction, (), replaced)
