"""The Spark provider's hook, with a local mode that needs no connection."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator, Mapping
from importlib.util import find_spec
from typing import Any

import psutil
from airflow.providers.apache.spark.hooks import spark_submit
from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook
from airflow.sdk import BaseHook, Connection
from airflow.sdk.exceptions import AirflowException, AirflowNotFoundException

from airflow_provider_pyhudi.connections import (
    check_spark_master,
    check_spark_type,
    environment_variable,
    missing_connection,
)
from airflow_provider_pyhudi.exceptions import PyhudiRequestError, PyhudiSetupError, job_error
from airflow_provider_pyhudi.submit.endings import (
    LastWords,
    application_in,
    last_words,
    unexplained,
)
from airflow_provider_pyhudi.submit.private import PrivateSettings, properties_text, spark_defaults
from pyhudi.config.access.connectors import missing_jars
from pyhudi.errors import SetupError
from pyhudi.flags import SECRETS_PROPERTY, SECRETS_VARIABLE
from pyhudi.storage.local_source import names_hadoop
from pyhudi.surroundings import check_surroundings

LOCAL_MASTER = "local[*]"
PATIENCE_S = 10
BRIEF_JAVA = "-XX:TieredStopAtLevel=1"
_WAIT_FOR_YARN = "spark.yarn.submit.waitAppCompletion"
_MORE_JARS = ("SPARK_CLASSPATH", "SPARK_CONF_DIR", "SPARK_DIST_CLASSPATH", "SPARK_HOME")
"""Variables by which Spark may have jars that are not seen here."""
_JAVA_OPTIONS = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "SPARK_SUBMIT_OPTS")
"""Variables by which somebody has said how a JVM runs."""


class PyhudiSparkSubmitHook(SparkSubmitHook):
    """spark-submit as the Spark provider runs it, except for what an unprepared machine needs.

    Without a connection the parent submits to YARN; this hook takes ``local[*]``, unless the
    connection was asked for by name: then it must exist. ``spark-submit`` is also found beside
    the running Python, where ``pip install pyspark`` puts it. A failed submission raises the error
    that the job's exit code stands for, with the job's own message.

    No secret is in the command line. Those of the job travel in an environment variable, or as a
    property that Spark redacts where the driver runs elsewhere; Spark properties that are secret,
    and these, are in a properties file that only this user can read and that is gone afterwards.

    :param conn_id: The Spark connection; None takes ``spark_default`` and does without it when
        there is none.
    :param secrets: What the job must know and nobody may see, as ``pyhudi.flags`` has it.
    :param is_brief: The JVM has little to do. Where nothing says how it is to run, it then goes
        without its second compiler, which takes a third of the processor time of such a job and
        pays in none.
    """

    _conf: dict[str, Any]
    _env: dict[str, Any] | None

    def __init__(
        self,
        *args: Any,
        conn_id: str | None = None,
        secrets: str | None = None,
        is_brief: bool = False,
        **kwargs: Any,
    ) -> None:
        self._is_brief = is_brief
        self._is_named = conn_id is not None
        self._secrets = secrets
        self._private = contextlib.ExitStack()
        self._is_fallback = False
        self._last_words: LastWords | None = None
        self._application: str | None = None
        super().__init__(*args, conn_id=conn_id or self.default_conn_name, **kwargs)
        self._connection["spark_binary"] = self._find_binary(self._connection["spark_binary"])

    @property
    def is_local(self) -> bool:
        """Whether driver and executors are one process on this machine."""
        master = str(self._connection["master"])
        return master == "local" or master.startswith("local[")

    @property
    def is_cluster_mode(self) -> bool:
        """Whether the driver runs on the cluster, out of reach of this machine's files."""
        return bool(self._connection["deploy_mode"] == "cluster")

    @property
    def application_id(self) -> str | None:
        """Spark's application that was submitted, as far as its log or the cluster has told."""
        found = self._application or self._yarn_application_id or self._kubernetes_application_id
        return None if found is None else str(found)

    @property
    def is_kubernetes(self) -> bool:
        """Whether the cluster is Kubernetes."""
        return str(self._connection["master"]).startswith("k8s://")

    @property
    def is_yarn(self) -> bool:
        """Whether the cluster is YARN."""
        return str(self._connection["master"]) == "yarn"

    def check_tracking(self) -> None:
        """Look whether a driver on the cluster can be followed as it is asked for.

        Raises:
            PyhudiRequestError: it cannot; says what to set.
        """
        waits = str((self._conf or {}).get(_WAIT_FOR_YARN, "")).strip().lower() == "true"
        if self._yarn_track_via_rm_api and waits:
            raise PyhudiRequestError(
                f"conf has {_WAIT_FOR_YARN}=true, so that the driver could not be found again by a "
                "retry; leave it out, or set durable=False and deferrable=False"
            )
        try:
            if self._yarn_track_via_rm_api:
                self._validate_yarn_track_via_rm_api_config()
            if self._track_driver_via_k8s_api:
                self._validate_track_driver_via_k8s_api_config()
        except ValueError as error:
            raise PyhudiRequestError(
                f"the driver on the cluster of the connection {self._conn_id!r} (conn_id) cannot "
                f"be followed: {error} Without that, durable=False and deferrable=False make "
                "spark-submit wait for it, and a retry after the loss of a worker submits again"
            ) from error

    @property
    def reads_local_paths(self) -> bool:
        """Whether Spark takes a path without a scheme for one of this machine, as far as is known.

        Hadoop's configuration may say otherwise, and need not lie where it is seen from here.
        """
        is_elsewhere = "spark.hadoop.fs.defaultFS" in (self._conf or {})
        return self.is_local and not (is_elsewhere or names_hadoop(self._environ()))

    def check_machine(self) -> None:
        """Look for what Spark needs, where it is to be the one beside Python on this machine.

        Raises:
            SetupError: there is no Java, a wrong one, or two versions of Spark in one folder.
        """
        environ = self._environ()
        if self.is_local and self._is_beside_python and "SPARK_CONF_DIR" not in environ:
            check_surroundings(environ)

    def check_connectors(self, source: str) -> None:
        """Look for Spark's connector for a source, where nothing but Spark's own jars is used.

        Raises:
            SetupError: it is not there; says what to install.
        """
        environ = self._environ()
        spec = find_spec("pyspark") if self.is_local and self._is_beside_python else None
        is_told_more = (
            self._packages
            or self._jars
            or self._driver_class_path
            or self._properties_file
            or any("jars" in name or "ClassPath" in name for name in self._conf or {})
            or spark_defaults(self._connection["spark_binary"], environ)
            or any(name in environ for name in _MORE_JARS)
        )
        if is_told_more or not spec or not spec.submodule_search_locations:
            return
        jars = os.path.join(next(iter(spec.submodule_search_locations)), "jars")
        missing = missing_jars(source, os.listdir(jars)) if os.path.isdir(jars) else None
        if missing:
            raise SetupError(missing)

    def submit(self, application: str = "", **kwargs: Any) -> str | None:
        """Run spark-submit.

        Raises:
            PyhudiRequestError: exit code 2; Airflow does not retry it.
            PyhudiConflictError: exit code 3.
            PyhudiInternalError: exit code 5; Airflow does not retry it.
            PyhudiSetupError: exit code 6, or Java is missing or too old; Airflow does not retry it.
            PyhudiEnvironmentError: any other.
        """
        if self._is_fallback:
            self.log.info("There is no connection %s: Spark runs on this machine", self._conn_id)
        try:
            driver: str | None = super().submit(application, **kwargs)
        except PyhudiRequestError:
            raise
        except AirflowException as error:
            code = self._submit_sp.returncode if self._submit_sp else None
            raise self._failure(code, str(error)) from error
        finally:
            self._private.close()
        return driver

    def _failure(self, code: int | None, otherwise: str) -> AirflowException:
        words = self._last_words
        if words is not None and words.explains(code):
            return job_error(words.exit_code or code, words.message)
        # The parent's own message has the whole command in it, which the log has already.
        return job_error(code, unexplained(code, self._submit_log_tail) if code else otherwise)

    def on_kill(self) -> None:
        """Stop the driver, give it time to undo what it began, then kill spark-submit."""
        self._stop_driver()
        super().on_kill()

    def _stop_driver(self) -> None:
        # The parent kills the JVM alone. The Python driver would notice only when it next asks the
        # JVM for something, and could commit before that.
        if self._submit_sp is None or self._submit_sp.poll() is not None:
            return
        with contextlib.suppress(psutil.NoSuchProcess):
            children = psutil.Process(self._submit_sp.pid).children(recursive=True)
            for child in children:
                with contextlib.suppress(psutil.NoSuchProcess):
                    child.terminate()
            psutil.wait_procs(children, timeout=PATIENCE_S)

    def _resolve_connection(self) -> dict[str, Any]:
        try:
            check_spark_type(BaseHook.get_connection(self._conn_id), self._conn_id)
        except AirflowNotFoundException as error:
            if self._is_named or environment_variable(self._conn_id) in os.environ:
                missing = missing_connection(self._conn_id, "conn_id")
                raise PyhudiRequestError(missing) from error
            if self._deploy_mode == "cluster":
                raise PyhudiRequestError(
                    "deploy_mode='cluster' needs a cluster; set conn_id to a Spark connection"
                ) from error
            self._is_fallback = True
        try:
            resolved: dict[str, Any] = super()._resolve_connection()
        except ValueError as error:
            raise PyhudiRequestError(
                f"the connection {self._conn_id!r} (conn_id) cannot be used: {error}"
            ) from error
        check_spark_master(resolved["master"], resolved["deploy_mode"], self._conn_id)
        # The parent imports it where it is installed, and would otherwise meet a missing name.
        if "k8s" in resolved["master"] and not hasattr(spark_submit, "kube_client"):
            raise PyhudiRequestError(
                f"the connection {self._conn_id!r} (conn_id) is for Spark on Kubernetes, which "
                "needs apache-airflow-providers-cncf-kubernetes; pip install it beside Airflow"
            )
        return resolved

    def get_connection(self, conn_id: str) -> Connection:
        """The Spark connection, or one for this machine when there is none and none was named."""
        if self._is_fallback:
            return Connection(
                conn_id=conn_id,
                conn_type="spark",
                host=LOCAL_MASTER,
                extra='{"deploy-mode": "client"}',
            )
        return BaseHook.get_connection(conn_id)

    def _build_spark_submit_command(self, application: str) -> list[str]:
        self._conf = self._brief_java() | self._with_own_python(self._conf or {})
        command: list[str] = super()._build_spark_submit_command(application)
        self._env = self._environment() | (self._env or {})
        if self._secrets and not self.is_cluster_mode:
            self._env[SECRETS_VARIABLE] = self._secrets
        return command

    def _build_spark_common_args(self) -> list[str]:
        args: list[str] = super()._build_spark_common_args()
        found = PrivateSettings.among(args)
        private = dict(found.properties)
        if self._secrets and self.is_cluster_mode:
            private[SECRETS_PROPERTY] = self._secrets
        if not private:
            return args
        folder = self._private.enter_context(tempfile.TemporaryDirectory(prefix="pyhudi-"))
        path = os.path.join(folder, "spark.properties")
        environ = os.environ | self._environment() | (self._env_vars or {})
        given = self._properties_file or spark_defaults(self._connection["spark_binary"], environ)
        text = properties_text(given, private)
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(text)
        return [*found.public, "--properties-file", path]

    def _with_own_python(self, conf: Mapping[str, Any]) -> dict[str, Any]:
        """The Spark properties, with which a driver on this machine takes this Python.

        Spark would take that of the workers for it, which a packed environment has on them alone.

        Source: SparkSubmitArguments and PythonRunner, Spark 3.5 and 4.
        """
        workers, driver = "spark.pyspark.python", "spark.pyspark.driver.python"
        is_theirs = workers in conf and driver not in conf
        is_here = not (self.is_local or self.is_cluster_mode)
        return {**conf, driver: sys.executable} if is_theirs and is_here else dict(conf)

    def _brief_java(self) -> dict[str, Any]:
        """Options of the JVM for a job that keeps it busy for seconds.

        Source: AbstractCommandBuilder and SparkSubmitCommandBuilder, Spark 3.5 and 4: they come
        before ``spark.driver.extraJavaOptions``.
        """
        environ = self._environ()
        is_told = (
            self._properties_file
            or spark_defaults(self._connection["spark_binary"], environ)
            or any(name in environ for name in _JAVA_OPTIONS)
            or any("JavaOptions" in name for name in self._conf or {})
        )
        is_ours = self._is_brief and self.is_local and self._is_beside_python and not is_told
        return {"spark.driver.defaultJavaOptions": BRIEF_JAVA} if is_ours else {}

    def _environment(self) -> dict[str, str]:
        """Variables that make this Python's Spark run on this Python.

        spark-submit, the driver and local workers would otherwise take python3 from PATH, which
        need not have pyspark and pyarrow. What is set already stays, and so does what a
        spark-defaults.conf says.
        """
        wanted: dict[str, str] = {}
        if self._is_beside_python:
            spec = find_spec("pyspark")
            if spec and spec.submodule_search_locations:
                wanted["SPARK_HOME"] = next(iter(spec.submodule_search_locations))
        if self.is_local:
            wanted["PYSPARK_PYTHON"] = sys.executable
        elif not self.is_cluster_mode:
            wanted["PYSPARK_DRIVER_PYTHON"] = sys.executable
        return {name: os.environ.get(name, value) for name, value in wanted.items()}

    def _environ(self) -> Mapping[str, str]:
        return os.environ | {name: str(value) for name, value in (self._env_vars or {}).items()}

    @property
    def _is_beside_python(self) -> bool:
        binary: str = self._connection["spark_binary"]
        return os.path.dirname(binary) == os.path.dirname(sys.executable)

    def _find_binary(self, name: str) -> str:
        beside = os.path.join(os.path.dirname(sys.executable), name)
        on_path = shutil.which(name)
        # A cluster's own installation knows the cluster; the one beside Airflow fits this engine.
        order = (beside, on_path) if self._is_fallback else (on_path, beside)
        for candidate in order:
            if candidate and os.access(candidate, os.X_OK):
                return candidate
        raise PyhudiSetupError(
            f"cannot find {name}, neither on PATH nor beside {sys.executable}; pip install pyspark"
        )

    def _process_spark_submit_log(self, itr: Iterator[Any]) -> None:
        super()._process_spark_submit_log(self._watch(itr))

    def _watch(self, lines: Iterator[Any]) -> Iterator[Any]:
        for line in lines:
            self._application = application_in(line) or self._application
            words = last_words(line)
            if words and (words.exit_code is None or self._last_words is None):
                self._last_words = words
            yield line
