"""What every operator shares: a request goes to a job script, the job's result comes back."""

from __future__ import annotations

import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from inspect import signature
from typing import TYPE_CHECKING, Any, ClassVar, cast

from airflow.configuration import conf
from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook
from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.sdk.exceptions import AirflowException, AirflowSkipException

from airflow_provider_pyhudi.assets.outlets import announce, outlets_with_table
from airflow_provider_pyhudi.bundle import engine_zip, job_script
from airflow_provider_pyhudi.connections import texts
from airflow_provider_pyhudi.exceptions import (
    PyhudiRequestError,
    cause_to_show,
    engine_error,
    job_error,
)
from airflow_provider_pyhudi.hooks.table import PyhudiHook
from airflow_provider_pyhudi.intervals import (
    asks_for_interval,
    check_templates,
    hint_at_empty_interval,
)
from airflow_provider_pyhudi.lineage.facets import lineage_of
from airflow_provider_pyhudi.lineage.links import PyhudiSparkLink, PyhudiTableLink
from airflow_provider_pyhudi.masking import mask_fields
from airflow_provider_pyhudi.retries import SpreadRetries
from airflow_provider_pyhudi.stamp import commit_stamp, first_try, idempotency_key, key_since
from airflow_provider_pyhudi.submit.landed import find, made, published
from airflow_provider_pyhudi.submit.spark_submit import PyhudiSparkSubmitHook
from airflow_provider_pyhudi.triggers.driver import SUCCEEDED, PyhudiDriverTrigger
from airflow_provider_pyhudi.wording import in_arguments, mapped_name
from pyhudi.config.known import refuse_unknown
from pyhudi.config.options.operations import Operation
from pyhudi.config.options.table import TABLE_NAME
from pyhudi.errors import HudiError
from pyhudi.flags import to_secrets
from pyhudi.jobs.request import Request
from pyhudi.jobs.result import JobResult
from pyhudi.table.result_line import result_line

if TYPE_CHECKING:
    from airflow.sdk import Context, RetryPolicy

# XCom lies in Airflow's database: a commit may touch more partitions than belong there.
MOST_PARTITIONS = 100
LEAST_POLL_S = 10
"""Seconds between two polls of a cluster, at least: many tasks poll it."""
_WRITES = frozenset(each.value for each in Operation)
_UNTRACED = "the job left nothing on the timeline; its own log says why"
_UNSEEN = "what the job did is told by its own log"


class PyhudiJobOperator(SparkSubmitOperator):
    """Submit a bundled job script with spark-submit and return the job's result.

    A commit carries the idempotency key of its task execution. A try that finds this key on the
    table's timeline submits nothing and returns ``already_committed``; the job looks again before
    it commits, so a try whose worker was lost cannot write twice either. A submission that fails
    after its commit, such as one whose JVM is killed late, is a success: the timeline says so.

    What no retry can mend fails at once: a wrong request, a machine without Java. Retries of the
    rest come after ``retry_delay`` by up to half of it sooner or later, so that runs that met at a
    table do not meet again; a ``retry_policy`` of the task's own is kept.

    The result has ``instant`` None and counts of 0 when nothing was written, and the task is green:
    ``status`` says why. PyhudiInstantSensor waits for nothing then.

    The table is an outlet, ``table_asset``, or ``services_asset`` of what changes no row.

    A mapped task is shown by its table and what it does there, its source or instant, unless the
    task has a ``map_index_template`` of its own.

    Everything SparkSubmitOperator takes is taken here too: ``conf``, ``driver_memory``,
    ``deploy_mode`` and the rest; ``application_args`` are appended to the job's own.

    :param base_path: Folder or URI of the table. (templated)
    :param storage_options: Options of the table's storage. Secrets among them, such as
        ``secret_key``, stay out of command line and log; keep them in the connection. (templated)
    :param hoodie_conf: Further Hudi options under Hudi's own keys (``docs/options.md``). Those of
        several writers at once (``docs/locks.md``) all tasks of a table must have. (templated)
    :param props: File of Hudi options, on the machine of the driver. (templated)
    :param commit_metadata: Entries for the extra metadata of what the job leaves on the timeline,
        beside those that say which task made it. (templated)
    :param key: The idempotency key; by default one per execution of the task. What carries the key
        is not made again. (templated)
    :param pyhudi_conn_id: Connection of type ``pyhudi`` with a base folder and storage options.
    :param storage_conn_id: Connection with the keys of the table's storage: ``aws``,
        ``google_cloud_platform``, ``wasb``, ``adls`` or ``generic``. Without one the clients of the
        cloud find keys as ever: environment, profile, role of the machine. Keys of a role are
        renewed while the job runs on this machine. (templated)
    :param conn_id: Spark connection. Without one, and without ``spark_default``, Spark runs on the
        worker itself as ``local[*]``.
    :param name: Name of the Spark application; the DAG's and the task's unless given. (templated)
    :param deferrable: Where the driver runs on the cluster (YARN, Kubernetes; ``deploy_mode``
        ``cluster``), give the worker free once it is submitted: a trigger polls it. By default what
        ``[operators] default_deferrable`` says. A driver on YARN that a retry is to find again, in
        this mode or with ``durable``, which is on unless set to False, needs
        ``yarn_resourcemanager_webapp_address`` in the Extra of the connection.
    :param ship_engine: Send the package ``pyhudi`` along when Spark runs on a cluster; the
        cluster's Python needs pyarrow, numpy and fastavro either way.
    """

    application: str
    application_args: list[str] | None
    name: str | None
    py_files: str | None
    retry_policy: RetryPolicy | None
    operator_extra_links = (PyhudiTableLink(), PyhudiSparkLink())
    changes_rows: ClassVar[bool] = True  # whether who waits for rows is told
    is_brief: bool = True  # whether the JVM has little to do; rows of a service never come to it
    template_fields: Sequence[str] = (
        "base_path",
        "storage_options",
        "hoodie_conf",
        "props",
        "commit_metadata",
        "key",
        "storage_conn_id",
        *SparkSubmitOperator.template_fields,
    )
    template_fields_renderers: ClassVar[dict[str, str]] = {
        "storage_options": "json",
        "hoodie_conf": "json",
        "commit_metadata": "json",
        "conf": "json",
        "application_args": "json",
        "env_vars": "json",
    }

    def __init__(  # noqa: PLR0913 - what every job has, all by keyword
        self,
        *,
        base_path: str,
        storage_options: Mapping[str, str] | None = None,
        hoodie_conf: Mapping[str, Any] | None = None,
        props: str | None = None,
        commit_metadata: Mapping[str, Any] | None = None,
        key: str | None = None,
        pyhudi_conn_id: str | None = None,
        storage_conn_id: str | None = None,
        conn_id: str | None = None,
        name: str | None = None,
        deferrable: bool = conf.getboolean("operators", "default_deferrable", fallback=False),
        ship_engine: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(conn_id=conn_id, name=name, **kwargs)
        if self.retry_policy is None:
            self.retry_policy = SpreadRetries()
        self.base_path = base_path
        self.storage_options = storage_options
        self.hoodie_conf = hoodie_conf
        self.props = props
        self.commit_metadata = commit_metadata
        self.key = key
        self.pyhudi_conn_id = pyhudi_conn_id
        self.storage_conn_id = storage_conn_id
        self.deferrable = deferrable
        self.ship_engine = ship_engine
        self._secrets: str | None = None
        self.told: Mapping[str, Any] | None = None
        self.reached: dict[str, Any] = {}
        self._is_of_interval = False
        self.outlets = outlets_with_table(self, changes_rows=self.changes_rows)

    def request(self, context: Context) -> Request:
        """The request to submit, made from fields that are rendered by now."""
        raise NotImplementedError

    def _shared(self, context: Context) -> dict[str, Any]:
        """The fields that every request has, with this execution's key and stamp."""
        tables, conf = self._tables(), texts(self.hoodie_conf, "hoodie_conf")
        refuse_unknown(conf)
        # The links of a task that fails lead as far as it has come.
        self.reached["base_path"] = tables.table_uri(self.base_path)
        return {
            "base_path": self.reached["base_path"],
            "hoodie_conf": conf,
            "props": self.props,
            "storage_options": tables.storage_options,
            "commit_metadata": commit_stamp(context)
            | texts(self.commit_metadata, "commit_metadata"),
            "idempotency_key": self.key or idempotency_key(context),
            "idempotency_since": key_since(context, is_own_key=bool(self.key)),
            "verbose": self._verbose,
        }

    def execute(self, context: Context) -> dict[str, Any]:
        """Submit the job unless its commit is made, and return the result.

        Raises:
            AirflowSkipException: the source is not there, and that was to be skipped.
        """
        return self._told(context, self._run)

    def execute_complete(self, context: Context, event: Mapping[str, str]) -> dict[str, Any]:
        """Return what a driver did that was waited for, by the timeline of its table.

        Raises:
            PyhudiEnvironmentError: it failed, and has not committed.
        """
        return self._told(context, partial(self._run_elsewhere, event=event))

    def poll_until_complete(self, external_id: Any, context: Context) -> None:
        """Wait for a driver on the cluster, in the triggerer if that is asked for."""
        if not self.deferrable:
            super().poll_until_complete(external_id, context)
            return
        self.log.info("The triggerer waits for %s", external_id)
        self.defer(
            trigger=PyhudiDriverTrigger(
                conn_id=self._conn_id or SparkSubmitHook.default_conn_name,
                external_id=external_id,
                poll_interval=max(self._status_poll_interval, LEAST_POLL_S),
            ),
            method_name="execute_complete",
        )

    def _told(self, context: Context, run: Callable[[Context], JobResult]) -> dict[str, Any]:
        try:
            result = run(context)
        except HudiError as error:
            raise engine_error(error) from cause_to_show(error)
        except AirflowException as error:
            # Airflow shows what an error came of last, here a command of many lines.
            raise error from None
        is_write = result.operation in _WRITES
        hint = hint_at_empty_interval(context)
        if hint and is_write and result.instant is None:
            self.log.warning("Nothing was written: %s", hint)
        elif hint and is_write and self._is_of_interval:
            self.log.warning("What was written may be of another interval than is meant: %s", hint)
        if result.status == "skipped":
            raise AirflowSkipException(in_arguments(result.reason or "the source is not there"))
        return self._announce(context, result)

    def _run_elsewhere(self, context: Context, event: Mapping[str, str]) -> JobResult:
        request, tables = self.request(context), self._tables()
        self._note_application(event.get("application"))
        self._get_hook()._run_post_submit_commands()
        if event["status"] == SUCCEEDED:
            return self._committed(request, tables)
        error = job_error(None, event["message"])
        landed = self._landed(request, tables, None)
        if landed is None:
            raise error
        self.log.warning("After the job had done its work, it failed: %s", error)
        return landed

    def _do_render_template_fields(
        self, parent: Any, template_fields: Any, context: Context, jinja_env: Any, seen_oids: Any
    ) -> None:
        # Mapped tasks are rendered by this method too, and by no public one.
        check_templates(parent, template_fields, context, jinja_env)
        self._is_of_interval = asks_for_interval(parent, template_fields)
        super()._do_render_template_fields(parent, template_fields, context, jinja_env, seen_oids)
        # Airflow stores the fields as soon as they are rendered.
        mask_fields(self)
        if context["ti"].map_index >= 0 and context.get("map_index_template") is None:
            # Airflow would show the number alone.
            name = mapped_name(str(self.base_path), self._detail())
            named = {"map_index_template": "{{ pyhudi_mapped_name }}", "pyhudi_mapped_name": name}
            cast("dict[str, Any]", context).update(named)

    def _detail(self) -> str | None:
        """What tells this task from others of its table, where it is mapped."""
        instant = getattr(self, "instant", None)
        return None if instant is None else str(instant)

    def _run(self, context: Context) -> JobResult:
        request = self.request(context)
        tables = self._tables()
        earlier = find(request, tables)
        if earlier is None:
            return self._submit(context, request, tables)
        self.log.info(
            "An earlier try made instant %s of %s; nothing is submitted",
            earlier.instant,
            request.base_path,
        )
        return earlier

    def on_kill(self) -> None:
        """Stop spark-submit and with it the job; what it left unfinished the next writer undoes."""
        if self._hook is not None:
            super().on_kill()

    def _answer_before_spark(
        self,
        submission: PyhudiSparkSubmitHook,
        request: Any,
        tables: PyhudiHook,  # noqa: ARG002
    ) -> JobResult | None:
        """The result where it is known before Spark starts; errors that are known by then too."""
        # It refuses texts with a password, which what is said of them later would show.
        request.to_args()
        submission.check_machine()
        return None

    def _of_slot(self, request: Any, tables: PyhudiHook) -> JobResult | None:
        """What another execution has done for the same slot, for a request that has one."""
        found = tables.find_commit(
            request.base_path,
            request.slot_key,
            operation=request.operation_name,
            since=request.slot_since,
            is_slot=True,
        )
        if found is not None:
            self.log.info("Instant %s has done the work of this interval", found.instant)
        return found

    def _tables(self) -> PyhudiHook:
        return PyhudiHook(
            self.pyhudi_conn_id,
            storage_options=self.storage_options,
            storage_conn_id=self.storage_conn_id,
        )

    def _submit(self, context: Context, request: Request, tables: PyhudiHook) -> JobResult:
        # A job id kept from before the task was cleared would make a cluster job look done.
        self.external_id_key = f"pyhudi_job_id.{first_try(context)}"
        self._K8S_DRIVER_STATUS_KEY = f"pyhudi_driver_status.{first_try(context)}"
        self.application = self.application or job_script(request.script)
        self.name = self.name or f"{self.dag_id}.{self.task_id}"
        given = self.application_args, self.py_files
        with ExitStack() as stack:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="pyhudi-"))
            submission = self._get_hook()
            if submission.is_cluster_mode:
                self._follow_driver(submission)
            early = self._answer_before_spark(submission, request, tables)
            if early is not None:
                return early
            options = tables.options_of_a_job(folder, is_here=not submission.is_cluster_mode)
            request = replace(request, storage_options=stack.enter_context(options))
            result_path = None if submission.is_cluster_mode else f"{folder}/result.json"
            arguments = replace(request, result_path=result_path).to_args()
            self._secrets = to_secrets(request)
            self.application_args = [*arguments, *(self.application_args or [])]
            if self.ship_engine and not submission.is_local:
                self.py_files = ",".join(filter(None, (self.py_files, engine_zip(folder))))
            # The parent makes its hook once; a hook of an earlier try has that try's arguments.
            self._hook = None
            try:
                super().execute(context)
            except (AirflowException, RuntimeError) as error:
                landed = self._landed(request, tables, result_path)
                if landed is None:
                    raise
                self.log.warning("After the job had done its work, it failed: %s", error)
                return landed
            finally:
                self._note_application(self._hook and self._hook.application_id)
                self.application_args, self.py_files = given
                self._secrets = None
            return published(result_path) or self._committed(request, tables)

    def _follow_driver(self, submission: PyhudiSparkSubmitHook) -> None:
        """Have spark-submit end once the driver is known, where a retry is to find it again."""
        if self.deferrable and self._yarn_rm_auth is not None:
            raise PyhudiRequestError(
                "deferrable=True and yarn_rm_auth do not go together: a trigger keeps no secrets. "
                "Leave it out, and set keytab and principal in the Spark connection"
            )
        if self.deferrable:
            self._track_driver_via_k8s_api = submission.is_kubernetes
            self._yarn_track_via_rm_api = not submission.is_kubernetes
        elif self.durable and submission.is_yarn:
            # The parent tells of nothing else that it could ask of a driver it is to find again.
            self._yarn_track_via_rm_api = True
        self._get_hook().check_tracking()

    def _note_application(self, found: str | None) -> None:
        if found:
            self.reached["application"] = {"id": found}

    def _landed(
        self, request: Request, tables: PyhudiHook, result_path: str | None
    ) -> JobResult | None:
        """What a job that failed had done before, by its result or by its table's timeline."""
        try:
            return published(result_path) or made(request, tables)
        except HudiError as error:
            self.log.warning("Whether the job had committed before cannot be seen: %s", error)
            return None

    def _committed(self, request: Request, tables: PyhudiHook) -> JobResult:
        """The result of a job that succeeded out of reach, as its table tells it."""
        from pyhudi.table.result import job_result

        return made(request, tables) or job_result(
            "nothing_to_do",
            operation=request.operation_name,
            table=TABLE_NAME.read(request.options()),
            base_path=request.base_path,
            reason=_UNSEEN if request.trace == "none" else _UNTRACED,
        )

    def _announce(self, context: Context, result: JobResult) -> dict[str, Any]:
        self.log.info("%s", result_line(result))
        plain = result.as_dict()
        plain["partition_count"] = len(result.partitions)
        plain["partitions"] = plain["partitions"][:MOST_PARTITIONS]
        announce(self, context, plain, result.partitions)
        return plain

    def get_openlineage_facets_on_start(self) -> Any:
        """The sources and the table, for OpenLineage."""
        return lineage_of(self, None)

    def get_openlineage_facets_on_complete(self, _: Any) -> Any:
        """The same, with what was written and which columns it came from."""
        return lineage_of(self, self.told)

    def _get_hook(self) -> PyhudiSparkSubmitHook:
        # By the parent hook's own parameter names: one that a newer provider adds is passed too.
        names = [name for name in signature(SparkSubmitHook.__init__).parameters if name != "self"]
        given = {
            name: getattr(self, f"_{name}" if hasattr(self, f"_{name}") else name) for name in names
        }
        return PyhudiSparkSubmitHook(**given, secrets=self._secrets, is_brief=self.is_brief)
