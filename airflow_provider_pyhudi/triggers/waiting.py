"""What every trigger of the sensors is: a question, asked of a table until it is answered."""

from __future__ import annotations

from collections.abc import AsyncIterator, Hashable, Mapping
from typing import Any, ClassVar, Protocol

from airflow.sdk.exceptions import AirflowException
from airflow.triggers.base import BaseTrigger, TaskSuccessEvent, TriggerEvent

from airflow_provider_pyhudi.connections import storage_options_of
from airflow_provider_pyhudi.exceptions import PyhudiRequestError, exit_code_of
from airflow_provider_pyhudi.hooks.table import PyhudiHook
from airflow_provider_pyhudi.watch.table import Question, TableWatch
from airflow_provider_pyhudi.watch.together import looks
from pyhudi.config.access.secret import secrets_of
from pyhudi.errors import HudiError


class _Kind(Protocol):
    """What makes a question of arguments."""

    def of(self, given: Mapping[str, Any]) -> Question:
        """The question that they ask."""
        ...


class PyhudiTableTrigger(BaseTrigger):
    """Fire once, when a question about a table is answered, or with what went wrong.

    The event is ``{"status": "found", "found": ...}`` or ``{"status": "failed", "message": ...,
    "exit_code": ...}``, the code being the one a job would end with. All triggers of one triggerer
    that wait for one table share its listings.

    :param base_path: Folder or URI of the table.
    :param storage_options: Options of the storage. A secret among them is refused: arguments of a
        trigger are kept in Airflow's database.
    :param pyhudi_conn_id: Connection of type ``pyhudi``, which may have the secrets.
    :param storage_conn_id: Connection with the keys of the storage.
    :param poke_interval: Seconds between two looks.
    :param until: When the sensor gives up, for the log.
    :param ends_task: Whether the task ends here with its answer, and sees no worker again.
    :param conditions: What is asked, as the sensor has it.
    """

    kind: ClassVar[_Kind]
    arguments: ClassVar[tuple[str, ...]]
    """The names of the conditions."""

    def __init__(
        self,
        *,
        base_path: str,
        storage_options: Mapping[str, str] | None = None,
        pyhudi_conn_id: str | None = None,
        storage_conn_id: str | None = None,
        poke_interval: float = 60.0,
        until: str | None = None,
        ends_task: bool = False,
        **conditions: Any,
    ) -> None:
        super().__init__()
        if unknown := sorted(conditions.keys() - set(self.arguments)):
            # Airflow expects no other error of a trigger that it makes of stored arguments.
            raise TypeError(f"{type(self).__name__} takes no {', '.join(unknown)}")
        self.base_path = base_path
        self.storage_options = without_secrets(storage_options or {})
        self.pyhudi_conn_id = pyhudi_conn_id
        self.storage_conn_id = storage_conn_id
        self.poke_interval = poke_interval
        self.until = until
        self.ends_task = ends_task
        # Attributes, since Airflow renders those of a task that starts in the triggerer.
        for name in self.arguments:
            setattr(self, name, conditions.get(name))
        self._was_asked = frozenset(name for name in conditions if conditions[name] is not None)

    def serialize(self) -> tuple[str, dict[str, Any]]:
        """Class path and arguments, as plain JSON values."""
        return (
            f"{type(self).__module__}.{type(self).__qualname__}",
            {
                "base_path": self.base_path,
                "storage_options": self.storage_options,
                "pyhudi_conn_id": self.pyhudi_conn_id,
                "storage_conn_id": self.storage_conn_id,
                "poke_interval": self.poke_interval,
                "until": self.until,
                "ends_task": self.ends_task,
                **self._conditions(),
            },
        )

    async def run(self) -> AsyncIterator[TriggerEvent]:
        """Wait for the answer; the log has what changes meanwhile."""
        if self._is_void():
            yield self._event(None)
            return
        try:
            question = self.kind.of(self._conditions())
            key, interval = self._key(), float(self.poke_interval)
            async for look in looks(key, self._watch, question, interval):
                if look.found is not None:
                    self.log.info("%s: %s", self.base_path, look.found)
                    yield self._event(look.found)
                    return
                self.log.info("%s%s", look.seen, deadline_words(self.until))
        except (HudiError, AirflowException) as error:
            code = error.exit_code if isinstance(error, HudiError) else exit_code_of(error)
            yield TriggerEvent({"status": "failed", "message": str(error), "exit_code": code})

    def _is_void(self) -> bool:
        """Whether an instant was to be waited for, and turned out to be none at run time."""
        return "instant" in self._was_asked and self._conditions()["instant"] in (None, "None")

    def _conditions(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.arguments}

    def _event(self, found: Any) -> TriggerEvent:
        if self.ends_task:
            return TaskSuccessEvent(xcoms={"return_value": found})
        return TriggerEvent({"status": "found", "found": found})

    def _key(self) -> Hashable:
        options = tuple(sorted(self.storage_options.items()))
        return self.base_path, self.pyhudi_conn_id, self.storage_conn_id, options

    def _watch(self) -> TableWatch:
        hook = PyhudiHook(
            self.pyhudi_conn_id,
            storage_options=self.storage_options,
            storage_conn_id=self.storage_conn_id,
        )
        return hook.watch(self.base_path)


def deadline_words(until: str | None) -> str:
    """What goes behind a look that is not the last one: when the waiting ends, if it is known."""
    return f" until {until}" if until else ""


def without_secrets(given: Mapping[str, str]) -> dict[str, str]:
    """Storage options that may stand in Airflow's database.

    Raises:
        PyhudiRequestError: there is a secret among them.
    """
    options = storage_options_of(given, "storage_options")
    if secrets := secrets_of(options):
        raise PyhudiRequestError(
            f"storage_options has {', '.join(secrets)}, and the arguments of a deferred sensor are "
            "kept in Airflow's database; put storage_options into the Extra of a connection of "
            "type pyhudi and name it in pyhudi_conn_id, or name a connection of the cloud in "
            "storage_conn_id, or set deferrable=False"
        )
    return options
