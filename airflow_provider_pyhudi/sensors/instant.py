"""Wait for a completed instant on a table's timeline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Any, ClassVar

from airflow.configuration import conf
from airflow.sdk import BaseSensorOperator, PokeReturnValue

from airflow_provider_pyhudi.exceptions import engine_error, job_error
from airflow_provider_pyhudi.hooks.table import WRITE_ACTIONS, PyhudiHook
from airflow_provider_pyhudi.masking import mask_fields
from airflow_provider_pyhudi.triggers.timeline import PyhudiInstantTrigger
from pyhudi.errors import HudiError

if TYPE_CHECKING:
    from airflow.sdk import Context


class PyhudiInstantSensor(BaseSensorOperator):
    """Wait until the table has a completed instant, and return the newest that fits.

    It looks at the names in the timeline folder and opens no data. A table that is not there yet
    is waited for. Works in all modes: ``poke``, ``reschedule``, and ``deferrable``, which frees
    the worker while it waits.

    :param base_path: Folder or URI of the table. (templated)
    :param instant: Wait for exactly this instant, such as the one an upsert task returned.
        (templated)
    :param after: Wait for an instant later than this one, ``20260102030405678`` or a date or a
        date and time; an empty text is no condition. (templated)
    :param actions: Actions that count; those that write rows by default. (templated)
    :param storage_options: Options of the table's storage. Secrets belong in the connection, and
        must be there when the sensor is deferrable. (templated)
    :param pyhudi_conn_id: Connection of type ``pyhudi``. (templated)
    :param deferrable: Wait in the triggerer; Airflow's ``default_deferrable`` unless given.
    """

    template_fields: Sequence[str] = (
        "base_path",
        "instant",
        "after",
        "actions",
        "storage_options",
        "pyhudi_conn_id",
    )
    template_fields_renderers: ClassVar[dict[str, str]] = {"storage_options": "json"}

    def __init__(
        self,
        *,
        base_path: str,
        instant: str | None = None,
        after: str | None = None,
        actions: Sequence[str] = WRITE_ACTIONS,
        storage_options: Mapping[str, str] | None = None,
        pyhudi_conn_id: str | None = None,
        deferrable: bool = conf.getboolean("operators", "default_deferrable", fallback=False),
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.base_path = base_path
        self.instant = instant
        self.after = after
        self.actions = actions
        self.storage_options = storage_options
        self.pyhudi_conn_id = pyhudi_conn_id
        self.deferrable = deferrable

    def _do_render_template_fields(self, parent: Any, *args: Any, **kwargs: Any) -> None:
        # Airflow stores the fields as soon as they are rendered, of mapped tasks too.
        super()._do_render_template_fields(parent, *args, **kwargs)
        mask_fields(self)

    def poke(self, context: Context) -> PokeReturnValue:  # noqa: ARG002 - Airflow's signature
        """Whether an instant that fits is on the timeline, and which."""
        hook = PyhudiHook(self.pyhudi_conn_id, storage_options=self.storage_options)
        try:
            found = hook.find_instant(
                self.base_path,
                instant=self.instant or None,
                after=self.after or None,
                actions=self.actions,
            )
        except HudiError as error:
            raise engine_error(error) from error
        self.log.info("%s: %s", self.base_path, found or "no instant that fits yet")
        return PokeReturnValue(is_done=found is not None, xcom_value=found)

    def execute(self, context: Context) -> Any:
        """Wait on the worker, or look once and go on waiting in the triggerer."""
        if not self.deferrable:
            return super().execute(context)
        # Before the first look, so that a request that cannot wait fails whether it must or not.
        trigger = PyhudiInstantTrigger(
            base_path=self.base_path,
            instant=self.instant or None,
            after=self.after or None,
            actions=self.actions,
            storage_options=self.storage_options or {},
            pyhudi_conn_id=self.pyhudi_conn_id,
            poke_interval=self.poke_interval,
        )
        looked = self.poke(context)
        if looked:
            return looked.xcom_value
        return self.defer(
            trigger=trigger,
            method_name="execute_complete",
            timeout=timedelta(seconds=self.timeout),
        )

    def execute_complete(self, context: Context, event: Mapping[str, Any]) -> str:  # noqa: ARG002
        """The instant the trigger found, or the error it met."""
        if event["status"] == "found":
            instant: str = event["instant"]
            self.log.info("%s: %s", self.base_path, instant)
            return instant
        raise job_error(event["exit_code"], event["message"])
