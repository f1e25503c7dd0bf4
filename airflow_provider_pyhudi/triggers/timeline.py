"""Wait for an instant on a table's timeline, in the triggerer."""

from __future__ import annotations

from airflow_provider_pyhudi.triggers.waiting import PyhudiTableTrigger
from airflow_provider_pyhudi.watch import instants


class PyhudiInstantTrigger(PyhudiTableTrigger):
    """Fire once, with the newest completed instant that fits; see PyhudiInstantSensor."""

    kind = instants.InstantQuestion
    arguments = instants.ARGUMENTS
