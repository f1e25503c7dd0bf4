"""Write rows into a table: upsert, insert, delete, overwrite, and deletion of partitions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

from airflow_provider_pyhudi.connections import texts
from airflow_provider_pyhudi.hooks.table import PyhudiHook
from airflow_provider_pyhudi.intervals import warn_of_no_ordering
from airflow_provider_pyhudi.operators.job import PyhudiJobOperator
from airflow_provider_pyhudi.stamp import interval_end, slot_key, slot_since
from airflow_provider_pyhudi.submit.spark_submit import PyhudiSparkSubmitHook
from airflow_provider_pyhudi.wording import comma_list
from pyhudi.config.options.files import WAIT_SECONDS
from pyhudi.config.options.operations import ON_EXISTING, OnExisting
from pyhudi.errors import MissingSourceError, WriterAtWorkError
from pyhudi.jobs.result import JobResult
from pyhudi.jobs.upsert import UpsertRequest
from pyhudi.storage.local_source import check_source, source_bytes

if TYPE_CHECKING:
    from airflow.sdk import Context


INTERVAL_END = "airflow.data_interval_end"
"""The ordering field that is no column of the source: the end of the run's data interval."""
INTERVAL_END_COLUMN = "airflow_data_interval_end"
SMALL_BYTES = 32 << 20
"""Files of a source up to this size are read before the second compiler of Java pays."""


class PyhudiUpsertOperator(PyhudiJobOperator):
    """Write the rows of a source into a Hudi table, once per task execution.

    Returns the job's result: ``status`` (``committed``, ``already_committed`` or
    ``nothing_to_do``), ``instant``, ``records`` with the counts, and what else the job measured. A
    task that is skipped returns nothing.

    :param base_path: Folder or URI of the table; made when it is not there. (templated)
    :param source: The rows to write: a path, a glob, several paths, or the name of a table in the
        Spark catalog. Not needed with ``partitions_to_delete``. On an object store Spark reads it
        by a connector of Hadoop's, which ``packages`` can fetch, and with the keys of the table's
        storage unless ``conf`` has others. (templated)
    :param table_name: Name of the table. (templated)
    :param table_type: ``COPY_ON_WRITE``, the default for a new table, or ``MERGE_ON_READ``, whose
        updates go to log files first. (templated)
    :param operation: ``upsert`` (default), ``insert``, ``bulk_insert``, ``delete``;
        ``insert_overwrite`` replaces the partitions that occur in the source,
        ``insert_overwrite_table`` all; ``delete_partition`` hides partitions. (templated)
    :param record_key: Column or columns that name a record. (templated)
    :param partition_path: Column or columns to partition by; none leaves the table in one
        partition. (templated)
    :param ordering_field: Column whose highest value wins among records of one key. Give one: with
        it a backfill of old data cannot overwrite newer rows. Where the source has none,
        ``airflow.data_interval_end`` adds the column ``airflow_data_interval_end`` with the end of
        the run's interval, or the time at which a run without one was to begin. (templated)
    :param on_existing: What is done where the same data interval was written before and the task
        runs again, cleared or in a backfill: ``append`` writes the rows, ``reuse`` writes nothing
        and returns what was written, ``replace`` takes the rows of that commit out of the table as
        it puts these in. By default ``insert`` and ``bulk_insert`` replace where they can, all
        others append, which for an upsert changes the same keys again. Runs without an interval
        have been written before by themselves alone. (templated)
    :param partitions_to_delete: Partition paths for ``delete_partition``, with ``*`` for any
        characters; without them the partitions that occur in the source. (templated)
    :param source_format: Format of the source as Spark names it; Parquet by default. (templated)
    :param source_options: Options of the Spark reader. (templated)
    :param sql: Query over the view ``source``; its rows are written instead. (templated)
    :param if_source_missing: What a source that is not there means: ``fail`` (default) at once,
        ``retry`` as often as ``retries`` says, or ``skip`` the task, and with it those after it.
        Where the driver runs on this machine, a missing local source is seen before Spark starts.
        In cluster mode the answer of the job is out of reach, and a task whose source is missing
        and to be skipped is ``nothing_to_do``. (templated)
    """

    template_fields: Sequence[str] = (
        "source",
        "table_name",
        "table_type",
        "operation",
        "record_key",
        "partition_path",
        "ordering_field",
        "on_existing",
        "partitions_to_delete",
        "source_format",
        "source_options",
        "sql",
        "if_source_missing",
        *PyhudiJobOperator.template_fields,
    )
    template_fields_renderers: ClassVar[dict[str, str]] = {
        "sql": "sql",
        "source_options": "json",
        **PyhudiJobOperator.template_fields_renderers,
    }

    def __init__(  # noqa: PLR0913 - one argument per flag of the job, all by keyword
        self,
        *,
        source: str | Sequence[str] | None = None,
        table_name: str | None = None,
        table_type: str | None = None,
        operation: str | None = None,
        record_key: str | Sequence[str] | None = None,
        partition_path: str | Sequence[str] | None = None,
        ordering_field: str | None = None,
        on_existing: str | None = None,
        partitions_to_delete: str | Sequence[str] | None = None,
        source_format: str | None = None,
        source_options: Mapping[str, Any] | None = None,
        sql: str | None = None,
        if_source_missing: str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.source = source
        self.table_name = table_name
        self.table_type = table_type
        self.operation = operation
        self.record_key = record_key
        self.partition_path = partition_path
        self.ordering_field = ordering_field
        self.on_existing = on_existing
        self.partitions_to_delete = partitions_to_delete
        self.source_format = source_format
        self.source_options = source_options
        self.sql = sql
        self.if_source_missing = if_source_missing
        warn_of_no_ordering(self)

    def request(self, context: Context) -> UpsertRequest:
        """The request, with this execution's key and stamp."""
        is_interval = self.ordering_field == INTERVAL_END
        request = UpsertRequest(
            source=comma_list(self.source) or None,
            table_name=self.table_name,
            table_type=self.table_type,
            operation=self.operation,
            record_key=comma_list(self.record_key),
            partition_path=comma_list(self.partition_path),
            ordering_field=INTERVAL_END_COLUMN if is_interval else self.ordering_field,
            ordering_value=interval_end(context) if is_interval else None,
            slot_key=slot_key(context),
            slot_since=slot_since(context),
            on_existing=self.on_existing,
            partitions_to_delete=comma_list(self.partitions_to_delete),
            source_format=self.source_format or "parquet",
            source_options=texts(self.source_options, "source_options"),
            sql=self.sql,
            if_source_missing=self.if_source_missing,
            **self._shared(context),
        )
        request.check()
        return request

    def _detail(self) -> str | None:
        return comma_list(self.source) or comma_list(self.partitions_to_delete)

    def _answer_before_spark(
        self, submission: PyhudiSparkSubmitHook, request: Any, tables: PyhudiHook
    ) -> JobResult | None:
        super()._answer_before_spark(submission, request, tables)
        if request.source is not None:
            submission.check_connectors(request.source)
        if request.source is not None and not submission.is_cluster_mode:
            is_local = submission.reads_local_paths
            try:
                check_source(request.source, request.source_format, is_local=is_local)
            except MissingSourceError as error:
                return _without_source(request, error)
        self.is_brief = _is_small(request, is_local=submission.reads_local_paths)
        options = request.options()
        if ON_EXISTING.read(options) is OnExisting.REUSE:
            found = self._of_slot(request, tables)
            if found is not None:
                return found
        for instant in tables.live_writers(request.base_path, options):
            if not WAIT_SECONDS.read(options):
                raise WriterAtWorkError(
                    f"another writer is at work (instant {instant}); retry when it has ended",
                    where=request.base_path,
                )
            self.log.warning(
                "Another writer is at work on %s (instant %s); this one has to wait for it",
                request.base_path,
                instant,
            )
        return None


def _is_small(request: UpsertRequest, *, is_local: bool) -> bool:
    """Whether the rows that may come to the JVM are few: those of a query can be any number."""
    size = 0 if request.source is None else source_bytes(request.source, is_local=is_local)
    return not request.sql and size is not None and size <= SMALL_BYTES


def _without_source(request: UpsertRequest, error: MissingSourceError) -> JobResult:
    from pyhudi.table.result import without_source

    return without_source(request, error)
