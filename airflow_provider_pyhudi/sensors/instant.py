"""Wait for a completed instant on a table's timeline."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Any, ClassVar

from airflow.configuration import conf
from airflow.sdk import BaseSensorOperator, PokeReturnValue, timezone

from airflow_provider_pyhudi.exceptions import cause_to_show, engine_error, job_error
from airflow_provider_pyhudi.hooks.look import deadline_words
from airflow_provider_pyhudi.hooks.table import WRITE_ACTIONS, PyhudiHook
from airflow_provider_pyhudi.intervals import check_templates
from airflow_provider_pyhudi.masking import mask_fields
from airflow_provider_pyhudi.triggers.timeline import PyhudiInstantTrigger
from pyhudi.config.instant_text import instant_text
from pyhudi.errors import HudiError

if TYPE_CHECKING:
    from airflow.sdk import Context


class PyhudiInstantSensor(BaseSensorOperator):
    """Wait until the table has a completed instant, and return the newest that fits.

    It looks at the names in the timeline folder and opens no data. A table that is not there yet
    is waited for. Works in all modes: ``poke``, ``reschedule``, and ``deferrable``, which frees
    the worker while it waits.

    :param base_path: Folder or URI of the table. (templated)
    :param instant: Wait for exactly this instant, such as the one an upsert task returned; its
        digits, or a time with milliseconds. One that turns out to be None, since that task wrote
        nothing, is not waited for: the sensor is done at once and returns None. (templated)
    :param after: Wait for an instant later than this one: its digits, or a date or time as Airflow
        has them, such as ``{{ dag_run.run_after }}``, ``{{ ds }}`` or a ``datetime``. One without a
        zone is in that of the table's timeline; an empty text is no condition. (templated)
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
        instant: str | datetime | None = None,
        after: str | date | None = None,
        actions: Sequence[str] = WRITE_ACTIONS,
        storage_options: Mapping[str, str] | None = None,
        pyhudi_conn_id: str | None = None,
        deferrable: bool = conf.getboolean("operators", "default_deferrable", fallback=False),
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.base_path = base_path
        self.instant = instant
        self._is_for_an_instant = instant is not None
        self.after = after
        self.actions = actions
        self.storage_options = storage_options
        self.pyhudi_conn_id = pyhudi_conn_id
        self.deferrable = deferrable
        self._until: str | None = None
        self._told = ""

    def _do_render_template_fields(
        self, parent: Any, template_fields: Any, context: Context, jinja_env: Any, seen_oids: Any
    ) -> None:
        # Mapped tasks are rendered by this method too, and by no public one.
        check_templates(parent, template_fields, context, jinja_env)
        super()._do_render_template_fields(parent, template_fields, context, jinja_env, seen_oids)
        # Airflow stores the fields as soon as they are rendered.
        mask_fields(self)

    def poke(self, context: Context) -> PokeReturnValue:  # noqa: ARG002 - Airflow's signature
        """Whether an instant that fits is on the timeline, and which."""
        if self._is_for_an_instant and self.instant in (None, "None"):
            self.log.info(
                "%s: nothing was written, so there is no instant to wait for", self.base_path
            )
            return PokeReturnValue(is_done=True)
        hook = PyhudiHook(self.pyhudi_conn_id, storage_options=self.storage_options)
        try:
            look = hook.look(
                self.base_path,
                instant=self.instant or None,
                after=self.after or None,
                actions=self.actions,
            )
        except HudiError as error:
            raise engine_error(error) from cause_to_show(error)
        if look.found is not None:
            self.log.info("%s: %s", self.base_path, look.found)
        elif look.seen != self._told:
            self._told = look.seen
            self.log.info("%s%s", look.seen, deadline_words(self._until))
        return PokeReturnValue(is_done=look.found is not None, xcom_value=look.found)

    def execute(self, context: Context) -> Any:
        """Wait on the worker, or look once and go on waiting in the triggerer."""
        first = context["ti"].get_first_reschedule_date(context) if self.reschedule else None
        deadline = (first or timezone.utcnow()) + timedelta(seconds=self.timeout)
        self._until = deadline.isoformat(sep=" ", timespec="seconds")
        if not self.deferrable:
            return super().execute(context)
        # Before the first look, so that a request that cannot wait fails whether it must or not.
        trigger = self._trigger()
        looked = self.poke(context)
        if looked:
            return looked.xcom_value
        return self.defer(
            trigger=trigger,
            method_name="execute_complete",
            timeout=timedelta(seconds=self.timeout),
        )

    def _trigger(self) -> PyhudiInstantTrigger:
        return PyhudiInstantTrigger(
            base_path=self.base_path,
            instant=None if self.instant in (None, "", "None") else instant_text(self.instant),
            after=instant_text(self.after) if self.after else None,
            actions=self.actions,
            storage_options=self.storage_options or {},
            pyhudi_conn_id=self.pyhudi_conn_id,
            poke_interval=self.poke_interval,
            until=self._until,
        )

    def execute_complete(self, context: Context, event: Mapping[str, Any]) -> str:  # noqa: ARG002
        """The instant the trigger found, or the error it met."""
        if event["status"] == "found":
            instant: str = event["instant"]
            self.log.info("%s: %s", self.base_path, instant)
            return instant
        raise job_error(event["exit_code"], event["message"])
