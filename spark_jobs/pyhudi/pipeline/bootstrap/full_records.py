"""Rows of the source into files of the table, the way of a bulk insert."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from pyhudi.config.options.bootstrap import BootstrapMode
from pyhudi.config.write import BulkInsertSortMode
from pyhudi.pipeline.batch.staging import stage
from pyhudi.pipeline.begun import Begun
from pyhudi.pipeline.bootstrap.dataset.partitions import TakenPartition
from pyhudi.pipeline.bootstrap.dataset.rows import DatasetRows, dataset_rows
from pyhudi.pipeline.bootstrap.plan import BootstrapPlan
from pyhudi.pipeline.bootstrap.progress import Progress, rounds
from pyhudi.pipeline.files.bulk import bulk_insert
from pyhudi.pipeline.staged import write_staged
from pyhudi.pipeline.write_run import Written, note_files


def write_full_records(begun: Begun, plan: BootstrapPlan, progress: Progress) -> Written:
    """Write the rows of the partitions whose mode asks for it, in the sort mode of the request.

    Raises: as ``bulk_insert``.
    """
    run, partitions = begun.run, plan.of(BootstrapMode.FULL_RECORD)
    if not run.config.is_streamed:
        staged = stage(_rows(begun, plan, partitions), run.target.keying)
        try:
            return write_staged(replace(begun, run=run.with_failures(staged.failures)), staged)
        finally:
            staged.release()
    written = Written()
    with run.watch.stage("write") as noted:
        for some in _rounds(plan, partitions, run.runner.parallelism):
            stats, failures = bulk_insert(
                _rows(begun, plan, some),
                run.target.keying,
                run.config.bulk_insert,
                run.context(begun.table, begun.instant.instant),
                save_to=run.failed_storage(),
            )
            # Rows that fail are told in the one round there is then.
            written = Written(stats=(*written.stats, *stats), failures=failures)
            progress.add([file for partition in some for file in partition.files])
        note_files(noted, written.stats)
    return written


def _rows(begun: Begun, plan: BootstrapPlan, partitions: Sequence[TakenPartition]) -> DatasetRows:
    return dataset_rows(begun.run.runner, plan.source.storage, partitions, plan.rows)


def _rounds(
    plan: BootstrapPlan, partitions: Sequence[TakenPartition], parallelism: int
) -> Iterator[Sequence[TakenPartition]]:
    """Partitions at a time; all of them where rows are sorted or failures are counted together."""
    is_plain = plan.write.bulk_insert.sort_mode is BulkInsertSortMode.NONE
    if not is_plain or plan.write.failures.is_saving:
        yield partitions
        return
    yield from rounds(partitions, parallelism)
