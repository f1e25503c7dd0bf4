"""Wait for an instant on a table's timeline, in the triggerer."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any

from airflow.triggers.base import BaseTrigger, TriggerEvent

from airflow_provider_pyhudi.connections import storage_options_of
from airflow_provider_pyhudi.exceptions import PyhudiRequestError
from airflow_provider_pyhudi.hooks.look import Look, deadline_words
from airflow_provider_pyhudi.hooks.table import PyhudiHook
from pyhudi.config.access.secret import secrets_of
from pyhudi.errors import EXIT_REQUEST, HudiError


class PyhudiInstantTrigger(BaseTrigger):
    """Fire once, with the newest completed instant that fits, or with what went wrong.

    The event is ``{"status": "found", "instant": ...}`` or ``{"status": "failed", "message": ...,
    "exit_code": ...}``, the code being the one a job would end with.

    :param base_path: Folder or URI of the table.
    :param instant: Wait for this instant and no other.
    :param after: Wait for an instant later than this one.
    :param actions: Actions that count.
    :param storage_options: Options of the storage. A secret among them is refused: arguments of a
        trigger are kept in Airflow's database.
    :param pyhudi_conn_id: Connection that has the secrets.
    :param poke_interval: Seconds between two looks.
    :param until: When the sensor gives up, for the log.
    """

    def __init__(  # noqa: PLR0913 - what the sensor has, all by keyword
        self,
        *,
        base_path: str,
        instant: str | None,
        after: str | None,
        actions: Sequence[str],
        storage_options: Mapping[str, str],
        pyhudi_conn_id: str | None,
        poke_interval: float,
        until: str | None = None,
    ) -> None:
        super().__init__()
        self.base_path = base_path
        self.instant = instant
        self.after = after
        self.actions = list(actions)
        self.storage_options = _without_secrets(storage_options)
        self.pyhudi_conn_id = pyhudi_conn_id
        self.poke_interval = poke_interval
        self.until = until

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """Class path and arguments, as plain JSON values."""
        return (
            f"{type(self).__module__}.{type(self).__qualname__}",
            {
                "base_path": self.base_path,
                "instant": self.instant,
                "after": self.after,
                "actions": self.actions,
                "storage_options": self.storage_options,
                "pyhudi_conn_id": self.pyhudi_conn_id,
                "poke_interval": self.poke_interval,
                "until": self.until,
            },
        )

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Look, sleep, look again, until an instant fits; the log has what changes meanwhile."""
        told = ""
        while True:
            try:
                # Listing a folder blocks, and the triggerer runs many triggers in one loop.
                look = await asyncio.to_thread(self._look)
            except (HudiError, PyhudiRequestError) as error:
                code = error.exit_code if isinstance(error, HudiError) else EXIT_REQUEST
                yield TriggerEvent({"status": "failed", "message": str(error), "exit_code": code})
                return
            if look.found is not None:
                yield TriggerEvent({"status": "found", "instant": look.found})
                return
            if look.seen != told:
                told = look.seen
                self.log.info("%s%s", told, deadline_words(self.until))
            await asyncio.sleep(self.poke_interval)

    def _look(self) -> Look:
        hook = PyhudiHook(self.pyhudi_conn_id, storage_options=self.storage_options)
        return hook.look(
            self.base_path, instant=self.instant, after=self.after, actions=self.actions
        )


def _without_secrets(given: Mapping[str, str]) -> dict[str, str]:
    options = storage_options_of(given, "storage_options")
    if secrets := secrets_of(options):
        raise PyhudiRequestError(
            f"storage_options has {', '.join(secrets)}, and the arguments of a deferred sensor are "
            "kept in Airflow's database; put storage_options into the Extra of a connection of "
            "type pyhudi and name it in pyhudi_conn_id, or set deferrable=False"
        )
    return options
