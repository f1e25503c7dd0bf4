"""What every sensor is: a question, asked of a table on a worker or in the triggerer."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from typing import TYPE_CHECKING, Any, ClassVar

from airflow.configuration import conf
from airflow.sdk import BaseSensorOperator, PokeReturnValue, timezone
from airflow.triggers.base import StartTriggerArgs

from airflow_provider_pyhudi.exceptions import (
    PyhudiRequestError,
    cause_to_show,
    engine_error,
    job_error,
)
from airflow_provider_pyhudi.hooks.table import PyhudiHook
from airflow_provider_pyhudi.intervals import check_templates
from airflow_provider_pyhudi.masking import mask_fields
from airflow_provider_pyhudi.triggers.waiting import (
    PyhudiTableTrigger,
    deadline_words,
    without_secrets,
)
from airflow_provider_pyhudi.watch.table import TableWatch
from pyhudi.config.instant_text import instant_text
from pyhudi.errors import HudiError

if TYPE_CHECKING:
    from airflow.sdk import Context

_PLAIN = (str, int, float, bool, type(None))


class PyhudiTableSensor(BaseSensorOperator):
    """Wait until a table is as it is asked to be.

    A look is one listing of the timeline folder, whatever the table's age; what commits say is read
    once, where a condition needs it, and files are listed only when a commit has come. A table that
    is not there yet is waited for.

    Works in all modes: ``poke``; ``reschedule``; ``deferrable``, which frees the worker while it
    waits; and ``start_from_trigger``, which needs none before. A thousand sensors that wait for one
    table in a triggerer cost it the listings of one.

    :param base_path: Folder or URI of the table. (templated)
    :param storage_options: Options of the table's storage. Secrets belong in the connection, and
        must be there when the sensor waits in the triggerer. (templated)
    :param pyhudi_conn_id: Connection of type ``pyhudi``. (templated)
    :param storage_conn_id: Connection with the keys of the table's storage, of a cloud or
        ``generic``. (templated)
    :param deferrable: Wait in the triggerer; Airflow's ``default_deferrable`` unless given.
    :param start_from_trigger: Begin in the triggerer, without a worker before the answer. Arguments
        may be templates and no outputs of tasks; Airflow does not do this for mapped tasks.
    :param end_from_trigger: End in the triggerer too, where the sensor waits there: the task
        succeeds with its answer, and callbacks of a worker are not run.
    """

    trigger: ClassVar[type[PyhudiTableTrigger]]
    template_fields: Sequence[str] = (
        "base_path",
        "storage_options",
        "pyhudi_conn_id",
        "storage_conn_id",
    )
    template_fields_renderers: ClassVar[dict[str, str]] = {"storage_options": "json"}

    def __init__(
        self,
        *,
        base_path: str,
        storage_options: Mapping[str, str] | None = None,
        pyhudi_conn_id: str | None = None,
        storage_conn_id: str | None = None,
        deferrable: bool = conf.getboolean("operators", "default_deferrable", fallback=False),
        start_from_trigger: bool = False,
        end_from_trigger: bool = False,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.base_path = base_path
        self.storage_options = storage_options
        self.pyhudi_conn_id = pyhudi_conn_id
        self.storage_conn_id = storage_conn_id
        self.deferrable = deferrable or start_from_trigger
        self.start_from_trigger = start_from_trigger
        self.end_from_trigger = end_from_trigger
        self._until: str | None = None
        self._told = ""
        self._watch: TableWatch | None = None

    def _asks(self, **conditions: Any) -> None:
        """Keep the conditions of a sensor, and tell the scheduler of a start in the triggerer."""
        self._was_asked = frozenset(name for name in conditions if conditions[name] is not None)
        if not self.start_from_trigger:
            return
        # The scheduler keeps them with the DAG.
        without_secrets(self.storage_options or {})
        given = {**self._shared(), **{name: _plain(value) for name, value in conditions.items()}}
        odd = [name for name, value in given.items() if not _is_plain(value)]
        if odd:
            raise PyhudiRequestError(
                f"{', '.join(odd)} of {self.task_id!r} must be known when the DAG is parsed, or be "
                "a template such as \"{{ ti.xcom_pull(task_ids='upsert')['instant'] }}\": "
                "start_from_trigger=True begins without a worker"
            )
        # An instance's own: that of the class is shared by all its tasks.
        self.start_trigger_args = StartTriggerArgs(
            trigger_cls=f"{self.trigger.__module__}.{self.trigger.__qualname__}",
            trigger_kwargs=given,
            next_method="execute_complete",
            next_kwargs=None,
            timeout=timedelta(seconds=self.timeout),
        )

    def _do_render_template_fields(
        self, parent: Any, template_fields: Any, context: Context, jinja_env: Any, seen_oids: Any
    ) -> None:
        # Mapped tasks are rendered by this method too, and by no public one.
        check_templates(parent, template_fields, context, jinja_env)
        super()._do_render_template_fields(parent, template_fields, context, jinja_env, seen_oids)
        # Airflow stores the fields as soon as they are rendered.
        mask_fields(self)

    def poke(self, context: Context) -> PokeReturnValue:  # noqa: ARG002 - Airflow's signature
        """Whether what is asked for is so, and the answer."""
        conditions = self._conditions()
        if "instant" in self._was_asked and conditions["instant"] in (None, "None"):
            self.log.info(
                "%s: nothing was written, so there is no instant to wait for", self.base_path
            )
            return PokeReturnValue(is_done=True)
        try:
            question = self.trigger.kind.of(conditions)
            look = self._looks().one_look(question)
        except HudiError as error:
            # Keys may be others at the next look.
            self._watch = None
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
        conditions = {name: _plain(value) for name, value in self._conditions().items()}
        for name in self._was_asked & {"instant"}:
            conditions[name] = conditions[name] or "None"
        trigger = self.trigger(**self._shared(), until=self._until, **conditions)
        looked = self.poke(context)
        if looked:
            return looked.xcom_value
        return self.defer(
            trigger=trigger,
            method_name="execute_complete",
            timeout=timedelta(seconds=self.timeout),
        )

    def execute_complete(self, context: Context, event: Mapping[str, Any]) -> Any:  # noqa: ARG002
        """What the trigger found, or the error it met."""
        if event["status"] == "found":
            self.log.info("%s: %s", self.base_path, event["found"])
            return event["found"]
        raise job_error(event["exit_code"], event["message"])

    def _conditions(self) -> dict[str, Any]:
        return {name: getattr(self, name) for name in self.trigger.arguments}

    def _shared(self) -> dict[str, Any]:
        return {
            "base_path": self.base_path,
            "storage_options": dict(self.storage_options or {}),
            "pyhudi_conn_id": self.pyhudi_conn_id,
            "storage_conn_id": self.storage_conn_id,
            "poke_interval": self.poke_interval,
            "ends_task": self.end_from_trigger,
        }

    def _looks(self) -> TableWatch:
        if self._watch is None:
            hook = PyhudiHook(
                self.pyhudi_conn_id,
                storage_options=self.storage_options,
                storage_conn_id=self.storage_conn_id,
            )
            self._watch = hook.watch(self.base_path)
        return self._watch


def _plain(value: Any) -> Any:
    """A condition as JSON has it: times as texts, spans of time as seconds."""
    if isinstance(value, date):
        return instant_text(value)
    if isinstance(value, timedelta):
        return value.total_seconds()
    return list(value) if isinstance(value, (tuple, frozenset, set)) else value


def _is_plain(value: Any) -> bool:
    if isinstance(value, Mapping):
        return all(_is_plain(each) for each in value.values())
    if isinstance(value, list):
        return all(_is_plain(each) for each in value)
    return isinstance(value, _PLAIN)
