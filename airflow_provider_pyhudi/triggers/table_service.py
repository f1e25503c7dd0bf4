"""Wait for a table to be looked after, in the triggerer."""

from __future__ import annotations

from airflow_provider_pyhudi.triggers.waiting import PyhudiTableTrigger
from airflow_provider_pyhudi.watch import services


class PyhudiTableServiceTrigger(PyhudiTableTrigger):
    """Fire once, with what was measured; see PyhudiTableServiceSensor."""

    kind = services.ServiceQuestion
    arguments = services.ARGUMENTS
