"""Operations that hide whole file groups: what they hide, and hiding without writing."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from pyhudi.errors import ConflictError
from pyhudi.pipeline.begun import Begun, WriteFiles
from pyhudi.pipeline.files.slots import remove_rows
from pyhudi.pipeline.write_run import Replaced, WriteRun, Written
from pyhudi.services.compaction.job import compaction_merge
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
    # Which rows of a slot are to go is known of rows, not of partitions.
    if not config.recorded_operation.replaces or config.replaces_slot:
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
    _check_not_clustered(table, found)
    return found


def with_slot_replaced(write_files: WriteFiles) -> WriteFiles:
    """Files are written, and the rows that earlier commits of the slot wrote go with them.

    File groups that have such rows are hidden, and what they have of others is written to new ones:
    one commit puts the new rows in the place of the old, whoever else wrote to the same files.

    Raises:
        ConflictError: such a file group is under a pending clustering.
    """

    def write(begun: Begun) -> Written:
        run, table = begun.run, begun.table
        written = write_files(begun)
        begun.start(run.metadata({}))
        partitions = sorted({path for each in run.replaced for path in each.partitions})
        with run.watch.stage("replace") as noted:
            removed = remove_rows(
                run.runner,
                run.context(table, begun.instant.instant),
                table.latest_slices(partitions),
                compaction_merge(table, begun.instant.instant, run.config),
                tuple(each.instant for each in run.replaced),
            )
            noted.moved(removed.count, sum(stat.total_write_bytes for stat in removed.stats))
        found = replaced_file_ids({path for path, _ in removed.groups}, removed.groups)
        _check_not_clustered(table, found)
        _log.info(
            "%s: %d rows of %s make room for those of this write",
            table.config.name,
            removed.count,
            ", ".join(each.instant for each in run.replaced),
        )
        return replace(written, stats=(*written.stats, *removed.stats), replaced=found, files=None)

    return write


def _check_not_clustered(table: Table, found: Replaced) -> None:
    clustered = table.clustered_groups()
    blocked = sorted(clustered & {(path, group) for path, ids in found.items() for group in ids})
    if blocked:
        raise ConflictError(
            f"{len(blocked)} file groups to replace are under a pending clustering, the first is "
            f"{'/'.join(blocked[0])}; let the clustering end and retry",
            where=table.storage.uri,
        )


def delete_partitions(begun: Begun, asked: Sequence[str]) -> Written:
    """Hide every file group of the partitions that the paths and patterns mean."""
    run, table = begun.run, begun.table
    begun.empty_partitions(partial(matching_partitions, asked))
    partitions = matching_partitions(asked, table.partitions())
    if not partitions:
        _log.warning("%s has no partition %s", table.config.name, ", ".join(asked))
    replaced = replaced_groups(run, table, partitions)
    written = Written(replaced=replaced, failures=run.failures)
    if not run.is_nothing(written):
        begun.start(run.metadata({}))
    return written
