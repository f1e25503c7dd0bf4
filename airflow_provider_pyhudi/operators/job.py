"""What every operator shares: a request goes to a job script, the job's result comes back."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from inspect import signature
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook
from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.sdk import Asset

from airflow_provider_pyhudi.bundle import engine_zip, job_script
from airflow_provider_pyhudi.exceptions import engine_error
from airflow_provider_pyhudi.hooks.table import PyhudiHook
from airflow_provider_pyhudi.stamp import first_try
from airflow_provider_pyhudi.submit.spark_submit import PyhudiSparkSubmitHook
from pyhudi.config.write import OPERATION, TABLE_NAME
from pyhudi.errors import HudiError
from pyhudi.jobs import CompactionRequest, JobResult, UpsertRequest

if TYPE_CHECKING:
    from airflow.sdk import Context

Request = UpsertRequest | CompactionRequest

# XCom lies in Airflow's database: a commit may touch more partitions than belong there.
MOST_PARTITIONS = 100


class PyhudiJobOperator(SparkSubmitOperator):
    """Submit a bundled job script with spark-submit and return the job's result.

    A commit carries the idempotency key of its task execution. A try that finds this key on the
    table's timeline submits nothing and returns ``already_committed``; the job looks again before
    it commits, so a try whose worker was lost cannot write twice either.

    Everything SparkSubmitOperator takes is taken here too: ``conf``, ``driver_memory``,
    ``deploy_mode`` and the rest; ``application_args`` are appended to the job's own.

    :param base_path: Folder or URI of the table. (templated)
    :param storage_options: Options of the table's storage. They are arguments of the job and so
        visible in its command line; for secrets use the machine's own credentials. (templated)
    :param pyhudi_conn_id: Connection of type ``pyhudi`` with a base folder and storage options.
    :param conn_id: Spark connection. Without one, and without ``spark_default``, Spark runs on the
        worker itself as ``local[*]``.
    :param name: Name of the Spark application; the DAG's and the task's unless given. (templated)
    :param ship_engine: Send the package ``pyhudi`` along when Spark runs on a cluster; the
        cluster's Python needs pyarrow, numpy and fastavro either way.
    """

    job: ClassVar[str]
    application: str
    application_args: list[str] | None
    name: str | None
    py_files: str | None
    template_fields: Sequence[str] = (
        "base_path",
        "storage_options",
        *SparkSubmitOperator.template_fields,
    )
    template_fields_renderers: ClassVar[dict[str, str]] = {
        "storage_options": "json",
        "conf": "json",
        "application_args": "json",
        "env_vars": "json",
    }

    def __init__(
        self,
        *,
        base_path: str,
        storage_options: Mapping[str, str] | None = None,
        pyhudi_conn_id: str | None = None,
        conn_id: str | None = None,
        name: str | None = None,
        ship_engine: bool = True,
        **kwargs: Any,
    ) -> None:
        super().__init__(conn_id=conn_id, name=name, **kwargs)
        self.base_path = base_path
        self.storage_options = storage_options
        self.pyhudi_conn_id = pyhudi_conn_id
        self.ship_engine = ship_engine

    def request(self, context: Context) -> Request:
        """The request to submit, made from fields that are rendered by now."""
        raise NotImplementedError

    def execute(self, context: Context) -> dict[str, Any]:
        """Submit the job unless its commit has landed, and return the result."""
        try:
            return self._announce(context, self._run(context))
        except HudiError as error:
            raise engine_error(error) from error

    def _run(self, context: Context) -> JobResult:
        request = self.request(context)
        tables = self._tables()
        landed = _find(request, tables)
        if landed is None:
            return self._submit(context, request, tables)
        self.log.info(
            "An earlier try made instant %s of %s; nothing is submitted",
            landed.instant,
            request.base_path,
        )
        return landed

    def on_kill(self) -> None:
        """Stop spark-submit and with it the job; what it left unfinished the next writer undoes."""
        if self._hook is not None:
            super().on_kill()

    def _tables(self) -> PyhudiHook:
        return PyhudiHook(self.pyhudi_conn_id, storage_options=texts(self.storage_options))

    def _submit(self, context: Context, request: Request, tables: PyhudiHook) -> JobResult:
        # A job id kept from before the task was cleared would make a cluster job look done.
        self.external_id_key = f"pyhudi_job_id.{first_try(context)}"
        self.application = self.application or job_script(self.job)
        self.name = self.name or f"{self.dag_id}.{self.task_id}"
        given = self.application_args, self.py_files
        with tempfile.TemporaryDirectory(prefix="pyhudi-") as folder:
            submission = self._get_hook()
            result_path = None if submission.is_cluster_mode else f"{folder}/result.json"
            arguments = replace(request, result_path=result_path).to_args()
            self.application_args = [*arguments, *(self.application_args or [])]
            if self.ship_engine and not submission.is_local:
                self.py_files = ",".join(filter(None, (self.py_files, engine_zip(folder))))
            # The parent makes its hook once; a hook of an earlier try has that try's arguments.
            self._hook = None
            try:
                super().execute(context)
            finally:
                self.application_args, self.py_files = given
            if result_path and os.path.exists(result_path):
                return JobResult.from_json(Path(result_path).read_text(encoding="utf-8"))
        return self._committed(request, tables)

    def _committed(self, request: Request, tables: PyhudiHook) -> JobResult:
        """The result of a job that succeeded out of reach, as its table tells it."""
        found = _find(request, tables)
        if found is not None:
            is_landed = found.status == "already_committed"
            return replace(found, status="committed") if is_landed else found
        return JobResult(
            status="nothing_to_do",
            operation=_operation(request),
            table=TABLE_NAME.read(request.options()),
            base_path=request.base_path,
        )

    def _announce(self, context: Context, result: JobResult) -> dict[str, Any]:
        plain = result.as_dict()
        plain["partition_count"] = len(result.partitions)
        plain["partitions"] = plain["partitions"][:MOST_PARTITIONS]
        shown = ("status", "instant", "operation", "table", "base_path", "records")
        for asset in self.outlets or []:
            if isinstance(asset, Asset):
                extra = context["outlet_events"][asset].extra
                extra.update({name: plain[name] for name in shown})
        return plain

    def _get_hook(self) -> PyhudiSparkSubmitHook:
        # By the parent hook's own parameter names: one that a newer provider adds is passed too.
        names = [name for name in signature(SparkSubmitHook.__init__).parameters if name != "self"]
        given = {
            name: getattr(self, f"_{name}" if hasattr(self, f"_{name}") else name) for name in names
        }
        return PyhudiSparkSubmitHook(**given)


def _find(request: Request, tables: PyhudiHook) -> JobResult | None:
    """What an earlier try of this execution has done to the table."""
    if isinstance(request, CompactionRequest) and request.mode == "schedule":
        return tables.find_plan(
            request.base_path, request.idempotency_key, operation=request.operation
        )
    return tables.find_commit(
        request.base_path, request.idempotency_key, operation=_operation(request)
    )


def _operation(request: Request) -> str:
    if isinstance(request, CompactionRequest):
        return request.operation
    return OPERATION.read(request.options()).value


def texts(mapping: Mapping[str, Any] | None) -> dict[str, str]:
    """The mapping with all values as the texts Hudi's options have; booleans in lower case."""
    return {
        key: str(value).lower() if isinstance(value, bool) else str(value)
        for key, value in (mapping or {}).items()
    }


def comma_list(value: str | Sequence[str] | None) -> str | None:
    """A list of columns or paths as one text."""
    return value if value is None or isinstance(value, str) else ",".join(value)
