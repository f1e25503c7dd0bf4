"""Wait for a partition of a table."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date, datetime, timedelta
from typing import Any

from airflow_provider_pyhudi.sensors.waiting import PyhudiTableSensor
from airflow_provider_pyhudi.triggers.partition import PyhudiPartitionTrigger


class PyhudiPartitionSensor(PyhudiTableSensor):
    """Wait until a partition has rows, is fresh enough, or is complete up to a time.

    All that is given must hold; files that hold rows must be there in any case. Returns the instant
    of the last write to the partition; compaction and clustering are no writes.

    :param base_path: Folder or URI of the table. (templated)
    :param partition: Path of the partition, such as ``2013-01-05`` or ``dt=2013-01-05/h=7``; empty
        for a table without partitions. (templated)
    :param fresher_than: A time since which the partition was written to, such as
        ``{{ data_interval_end }}``, or how long ago at most: a ``timedelta``, or seconds as a
        number. (templated)
    :param complete_up_to: A time up to which the data intervals of the table's commits go on
        without a gap. They may be written in any order, and one without rows for this partition
        counts as well. (templated)
    :param complete_from: From when on there may be no gap; the first interval on the timeline
        unless it is given. With it commits that were archived count too. (templated)
    """

    trigger = PyhudiPartitionTrigger
    template_fields: Sequence[str] = (
        *PyhudiPartitionTrigger.arguments,
        *PyhudiTableSensor.template_fields,
    )

    def __init__(
        self,
        *,
        partition: str = "",
        fresher_than: str | date | timedelta | float | None = None,
        complete_up_to: str | datetime | None = None,
        complete_from: str | datetime | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.partition = partition
        self.fresher_than = fresher_than
        self.complete_up_to = complete_up_to
        self.complete_from = complete_from
        self._asks(**self._conditions())
