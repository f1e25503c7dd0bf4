"""Make a table of a dataset of plain files."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from airflow_provider_pyhudi.hooks.table import PyhudiHook
from airflow_provider_pyhudi.operators.job import PyhudiJobOperator
from airflow_provider_pyhudi.stamp import slot_key, slot_since
from airflow_provider_pyhudi.submit.spark_submit import PyhudiSparkSubmitHook
from airflow_provider_pyhudi.wording import comma_list
from pyhudi.config.options.bootstrap import BootstrapConfig
from pyhudi.jobs.bootstrap import BootstrapRequest
from pyhudi.jobs.result import JobResult
from pyhudi.storage.local_source import check_source

if TYPE_CHECKING:
    from airflow.sdk import Context


class PyhudiBootstrapOperator(PyhudiJobOperator):
    """Make a Hudi table of a dataset of Parquet or ORC files, once per task execution.

    By default the rows stay where they are and only their keys are written, which takes little time
    and room; the dataset's files belong to the table from then on and must not change. Later writes
    put rows that they change into files of the table.

    Returns the job's result: ``status`` (``committed``, ``already_committed``, ``nothing_to_do`` or
    ``planned``), ``instant``, ``records`` with the counts, and what else the job measured.

    :param base_path: Folder or URI of the table, outside the dataset. (templated)
    :param source: Folder or URI of the dataset. The options of the table's storage are those of the
        dataset's too. (templated)
    :param source_format: ``parquet`` (default) or ``orc``. (templated)
    :param table_name: Name of the table. (templated)
    :param table_type: ``COPY_ON_WRITE`` (default) or ``MERGE_ON_READ``. (templated)
    :param record_key: Column or columns that name a record. (templated)
    :param partition_path: Column or columns to partition by; those that folders such as
        ``city=Rome`` name unless it is given. (templated)
    :param ordering_field: Column whose highest value wins among records of one key. (templated)
    :param selector: What becomes of partitions: ``metadata_only`` (default), ``full_record``, which
        writes the rows into files of the table, or ``regex``. (templated)
    :param regex: With ``regex``, the partitions, by their whole path in the dataset, that get the
        mode ``regex_mode``; the others get the other one. (templated)
    :param regex_mode: ``metadata_only`` (default) or ``full_record``. (templated)
    :param save_mode: Where a table is already: ``append`` (default; it must be empty),
        ``overwrite`` (it is deleted first), ``ignore`` or ``errorifexists``. (templated)
    :param on_existing: What is done where the same task has made the table for this data interval,
        or for this run where it has none, and runs again, cleared or in a backfill: ``reuse``
        (default, unless ``save_mode`` is ``overwrite``) makes nothing and returns what was made,
        whatever has been written since; ``append`` leaves it to ``save_mode``. (templated)
    :param dry_run: Only say, in the log and in the result's ``by_partition``, what would be done.
    """

    is_brief = False
    template_fields: Sequence[str] = (
        "source",
        "source_format",
        "table_name",
        "table_type",
        "record_key",
        "partition_path",
        "ordering_field",
        "selector",
        "regex",
        "regex_mode",
        "save_mode",
        "on_existing",
        *PyhudiJobOperator.template_fields,
    )

    def __init__(  # noqa: PLR0913 - one argument per flag of the job, all by keyword
        self,
        *,
        source: str,
        source_format: str | None = None,
        table_name: str | None = None,
        table_type: str | None = None,
        record_key: str | Sequence[str] | None = None,
        partition_path: str | Sequence[str] | None = None,
        ordering_field: str | None = None,
        selector: str | None = None,
        regex: str | None = None,
        regex_mode: str | None = None,
        save_mode: str | None = None,
        on_existing: str | None = None,
        dry_run: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.source = source
        self.source_format = source_format
        self.table_name = table_name
        self.table_type = table_type
        self.record_key = record_key
        self.partition_path = partition_path
        self.ordering_field = ordering_field
        self.selector = selector
        self.regex = regex
        self.regex_mode = regex_mode
        self.save_mode = save_mode
        self.on_existing = on_existing
        self.dry_run = dry_run

    def request(self, context: Context) -> BootstrapRequest:
        """The request, with this execution's key and stamp."""
        request = BootstrapRequest(
            source=self.source,
            source_format=self.source_format or "parquet",
            table_name=self.table_name,
            table_type=self.table_type,
            record_key=comma_list(self.record_key),
            partition_path=comma_list(self.partition_path),
            ordering_field=self.ordering_field,
            selector=self.selector,
            regex=self.regex,
            regex_mode=self.regex_mode,
            save_mode=self.save_mode,
            dry_run=self.dry_run,
            slot_key=slot_key(context),
            slot_since=slot_since(context),
            on_existing=self.on_existing,
            **self._shared(context),
        )
        request.check()
        return request

    def _answer_before_spark(
        self, submission: PyhudiSparkSubmitHook, request: Any, tables: PyhudiHook
    ) -> JobResult | None:
        super()._answer_before_spark(submission, request, tables)
        if BootstrapConfig.from_options(request.options()).reuses:
            made = self._of_slot(request, tables)
            if made is not None:
                return made
        # A list of paths or a pattern is no dataset; the job says so.
        if not submission.is_cluster_mode and "," not in request.source:
            is_local = submission.reads_local_paths
            check_source(request.source, request.source_format, is_local=is_local)
        return None
