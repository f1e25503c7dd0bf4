"""Operations that hide whole file groups: what they hide, and hiding without writing."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace

from pyhudi.errors import ConflictError
from pyhudi.pipeline.begun import Begun
from pyhudi.pipeline.write_run import Replaced, WriteRun, Written
from pyhudi.table.table import Table
from pyhudi.write.plan.replacing import matching_partitions, replaced_file_ids, replaced_partitions

_log = logging.getLogger(__name__)


def replaced_groups(run: WriteRun, table: Table, batch: Sequence[str]) -> Replaced | None:
    """The file groups that the write hides; None when its operation hides none.

    Shapes: ``batch`` has the partition paths that rows are written to, or that are to be deleted.

    Raises:
        ConflictError: some of them are under a pending clustering.
    Source: SparkDeletePartitionCommitActionExecutor.checkPreconditions, Hudi 0.15.
    """
    config = run.config
    if not config.recorded_operation.replaces:
        return None
    partitions = replaced_partitions(
        config.recorded_operation,
        batch=batch,
        static=config.batch.static_partitions,
        existing=table.partitions(),
    )
    # What is damaged is hidden with the rest, which mends the table.
    sound = replace(table, skips_damaged=True)
    groups = {(each.partition, each.file_id) for each in sound.latest_slices(partitions)}
    groups.update(lost.group for lost in table.damages(partitions))
    found = replaced_file_ids(partitions, groups)
    clustered = table.clustered_groups()
    blocked = sorted(clustered & {(path, group) for path, ids in found.items() for group in ids})
    if blocked:
        raise ConflictError(
            f"{len(blocked)} file groups to replace are under a pending clustering, the first is "
            f"{'/'.join(blocked[0])}; let the clustering end and retry",
            where=table.storage.uri,
        )
    return found


def delete_partitions(begun: Begun, asked: Sequence[str]) -> Written:
    """Hide every file group of the partitions that the paths and patterns mean."""
    run, table = begun.run, begun.table
    partitions = matching_partitions(asked, table.partitions())
    if not partitions:
        _log.warning("%s has no partition %s", table.config.name, ", ".join(asked))
    replaced = replaced_groups(run, table, partitions)
    written = Written(replaced=replaced, failures=run.failures)
    if not run.is_nothing(written):
        begun.instant.start(run.metadata({}))
    return written
