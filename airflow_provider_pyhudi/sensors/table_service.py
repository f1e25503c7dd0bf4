"""Wait for a table to be looked after."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from airflow_provider_pyhudi.sensors.waiting import PyhudiTableSensor
from airflow_provider_pyhudi.triggers.table_service import PyhudiTableServiceTrigger


class PyhudiTableServiceSensor(PyhudiTableSensor):
    """Wait until pending compactions, small files and log files lie within bounds.

    At least one bound must be given. Returns what was measured: ``pending_compactions``, and with a
    bound for files ``small_files`` and ``log_ratio``; then all partitions are listed when the
    timeline has changed.

    :param base_path: Folder or URI of the table. (templated)
    :param max_pending_compactions: Compactions that are planned and not done, at most. (templated)
    :param max_small_files: Base files below ``small_file_limit``, at most. (templated)
    :param small_file_limit: Bytes below which a base file is small; 100 MB by default, as
        ``hoodie.parquet.small.file.limit``. (templated)
    :param max_log_ratio: Bytes of log files by those of base files, at most. (templated)
    """

    trigger = PyhudiTableServiceTrigger
    template_fields: Sequence[str] = (
        *PyhudiTableServiceTrigger.arguments,
        *PyhudiTableSensor.template_fields,
    )

    def __init__(
        self,
        *,
        max_pending_compactions: int | str | None = None,
        max_small_files: int | str | None = None,
        small_file_limit: int | str | None = None,
        max_log_ratio: float | str | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.max_pending_compactions = max_pending_compactions
        self.max_small_files = max_small_files
        self.small_file_limit = small_file_limit
        self.max_log_ratio = max_log_ratio
        self._asks(**self._conditions())
