"""Wait for a partition, in the triggerer."""

from __future__ import annotations

from airflow_provider_pyhudi.triggers.waiting import PyhudiTableTrigger
from airflow_provider_pyhudi.watch import partitions


class PyhudiPartitionTrigger(PyhudiTableTrigger):
    """Fire once, with the last write to the partition; see PyhudiPartitionSensor."""

    kind = partitions.PartitionQuestion
    arguments = partitions.ARGUMENTS
