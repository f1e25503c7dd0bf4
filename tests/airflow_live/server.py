"""All of Airflow on this machine: database, scheduler, DAG processor, triggerer and API server."""

from __future__ import annotations

import contextlib
import json
import os
import secrets
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from importlib import metadata
from importlib.util import find_spec
from pathlib import Path

from tests.airflow_live.postgres import Postgres, server_programs
from tests.airflow_live.processes import MARK, Component, end_all_in, free_port, wait_until
from tests.airflow_live.rest import Rest

ROOT = Path(__file__).resolve().parents[2]
ADMIN, VIEWER = "admin", "viewer"
START_S = 180
_PLUGIN = "from airflow_provider_pyhudi.page.plugin import PyhudiPlugin  # noqa: F401\n"
_DRIVERS = {"psycopg2": "psycopg2-binary", "asyncpg": "asyncpg"}


def why_not() -> str | None:
    """What this machine lacks to run Airflow on PostgreSQL; None when nothing."""
    for module, package in _DRIVERS.items():
        if find_spec(module) is None:
            return f"{package} is not installed (make setup)"
    if server_programs() is None:
        return "there is no PostgreSQL: apt-get install postgresql, or pip install pgserver"
    java = os.environ.get("JAVA_HOME")
    if shutil.which("java") is None and not java:
        return "there is no Java"
    return None


class LiveAirflow:
    """One Airflow, with a folder of its own and loopback ports that were free.

    ``dags`` is where DAG files go; they are read within seconds. ``rest`` talks to it as an
    administrator, ``viewer`` as somebody who may only look.

    :param dags: DAG files, or folders of them, that are copied into ``dags`` before the start.
    :param settings: Further environment variables of all processes; they win.
    :param home: The folder; a temporary one unless given. It must be empty or not there.
    :param parallelism: How many tasks run at once, those in further pools aside.
    :param pools: Further pools, and how many tasks of each run at once.
    :param port: The port of pages and API; a free one unless given.
    """

    def __init__(
        self,
        *,
        dags: Sequence[Path] = (),
        settings: Mapping[str, str] | None = None,
        home: Path | None = None,
        parallelism: int = 2,
        pools: Mapping[str, int] | None = None,
        port: int | None = None,
    ) -> None:
        self.home = home or Path(tempfile.mkdtemp(prefix="pyhudi-live-"))
        self.dags, self.logs, self.lake = (self.home / name for name in ("dags", "logs", "lake"))
        self.port = port or free_port()
        self.url = f"http://127.0.0.1:{self.port}"
        self.passwords = {name: secrets.token_urlsafe(9) for name in (ADMIN, VIEWER)}
        self.rest = Rest(self.url, ADMIN, self.passwords[ADMIN])
        self.viewer = Rest(self.url, VIEWER, self.passwords[VIEWER])
        self.components: dict[str, Component] = {}
        self._postgres: Postgres | None = None
        self._given, self._settings = dags, dict(settings or {})
        self._parallelism, self._pools = parallelism, dict(pools or {})

    def start(self) -> None:
        """Start everything and wait until all parts say that they are well.

        Raises:
            RuntimeError: one of them ended; has the end of its log.
            TimeoutError: they run and are not well.
        """
        try:
            self._make_folders()
            programs = server_programs()
            assert programs is not None
            self._postgres = Postgres(programs)
            self._postgres.start()
            self._airflow("db", "migrate")
            for name in ("api-server", "scheduler", "dag-processor", "triggerer"):
                self.start_component(name)
            wait_until(self._is_well, seconds=START_S, what=f"Airflow to be well; {self.logs}")
            for name, slots in self._pools.items():
                pool = {"name": name, "slots": slots, "include_deferred": False}
                self.rest.send("POST", "/pools", pool)
        except BaseException:
            self.stop()
            raise

    def stop(self) -> None:
        """End every process and delete the folder."""
        # All at once, as each may take its time.
        for component in self.components.values():
            component.ask_to_end()
        for component in reversed(self.components.values()):
            component.stop()
        self.components.clear()
        end_all_in(self.home)
        if self._postgres is not None:
            self._postgres.stop()
        shutil.rmtree(self.home, ignore_errors=True)

    def start_component(self, name: str) -> Component:
        """Start one of the four parts, again after it was killed."""
        arguments = {
            "api-server": ("--host", "127.0.0.1", "--port", str(self.port), "--workers", "1"),
            # Their logs are files of this machine; a server of logs would listen to the network.
            "scheduler": ("--skip-serve-logs",),
            "triggerer": ("--skip-serve-logs",),
        }
        command = [sys.executable, "-m", "airflow", name, *arguments.get(name, ())]
        log = self.logs / f"{name}.log"
        self.components[name] = Component(name, command, log=log, environment=self.environment())
        return self.components[name]

    def environment(self) -> dict[str, str]:
        """What all processes of this Airflow have in their environment."""
        assert self._postgres is not None
        temporary = str(self.home / "tmp")
        paths = (str(Path(sys.executable).parent), os.environ.get("PATH", ""))
        inherited = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(("AIRFLOW", "PYTEST", "SPARK_"))
        }
        return {
            **inherited,
            MARK: str(self.home),
            "AIRFLOW_HOME": str(self.home),
            "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
            "AIRFLOW__CORE__DAGS_FOLDER": str(self.dags),
            "AIRFLOW__CORE__EXECUTOR": "LocalExecutor",
            "AIRFLOW__CORE__PARALLELISM": str(self._parallelism + sum(self._pools.values())),
            "AIRFLOW__CORE__DEFAULT_POOL_TASK_SLOT_COUNT": str(self._parallelism),
            "AIRFLOW__CORE__TEST_CONNECTION": "Enabled",
            "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS": f"{ADMIN}:admin,{VIEWER}:viewer",
            "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE": str(self._passwords_file),
            "AIRFLOW__CORE__EXECUTION_API_SERVER_URL": f"{self.url}/execution/",
            "AIRFLOW__API__BASE_URL": self.url,
            "AIRFLOW__API__SECRET_KEY": self._secret,
            "AIRFLOW__API_AUTH__JWT_SECRET": self._secret,
            "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": self._postgres.uri,
            # New files are seen soon. Reading all of them again and again took half of two cores.
            "AIRFLOW__DAG_PROCESSOR__REFRESH_INTERVAL": "3",
            "AIRFLOW__DAG_PROCESSOR__MIN_FILE_PROCESS_INTERVAL": "300",
            # A worker that is gone is missed within seconds, not within five minutes.
            "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_SEC": "2",
            "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT": "20",
            "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT_DETECTION_INTERVAL": "3",
            "AIRFLOW__LOGGING__BASE_LOG_FOLDER": str(self.logs / "tasks"),
            "FLIGHTS_LAKE": str(self.lake),
            "LIVE_LAKE": str(self.lake),
            "HOME": str(self.home / "home"),
            "NO_PROXY": "127.0.0.1,localhost",
            "no_proxy": "127.0.0.1,localhost",
            "PATH": os.pathsep.join(paths),
            "PYTHONPATH": os.pathsep.join((str(ROOT), str(ROOT / "spark_jobs"))),
            "SPARK_LOCAL_DIRS": temporary,
            "SPARK_LOCAL_IP": "127.0.0.1",
            "TMPDIR": temporary,
            "JDK_JAVA_OPTIONS": " ".join(
                (
                    # Java keeps its counters below /tmp whatever TMPDIR says.
                    "-XX:-UsePerfData",
                    f"-Djava.io.tmpdir={temporary}",
                    # Jobs of some rows end before the second compiler pays.
                    "-XX:TieredStopAtLevel=1",
                    "-XX:+UseSerialGC",
                )
            ),
            **self._settings,
        }

    def task_log(self, dag_id: str, run_id: str, task_id: str, attempt: int = 1) -> str:
        """What a try of a task said, as lines of JSON; empty when there is none."""
        folder = self.logs / "tasks" / f"dag_id={dag_id}" / f"run_id={run_id}"
        path = folder / f"task_id={task_id}" / f"attempt={attempt}.log"
        return path.read_text(encoding="utf-8", errors="replace") if path.exists() else ""

    def failures(self, dag_id: str) -> str:
        """The last lines of the logs of a DAG's tasks that failed."""
        folder = self.logs / "tasks" / f"dag_id={dag_id}"
        texts = (path.read_text(errors="replace") for path in sorted(folder.rglob("*.log")))
        return "\n".join(text[-2000:] for text in texts if '"level":"error"' in text)

    @property
    def _passwords_file(self) -> Path:
        return self.home / "passwords.json"

    def _make_folders(self) -> None:
        self._secret = secrets.token_hex(32)
        for name in ("dags", "logs", "lake", "tmp", "home"):
            (self.home / name).mkdir(parents=True, exist_ok=True)
        with open(os.open(self._passwords_file, os.O_WRONLY | os.O_CREAT, 0o600), "w") as file:
            json.dump(self.passwords, file)
        for given in self._given:
            for file_ in sorted(given.glob("*.py")) if given.is_dir() else [given]:
                shutil.copy(file_, self.dags)
        if "pyhudi" not in metadata.entry_points(group="airflow.plugins").names:
            # This environment was installed before there was the page.
            plugins = self.home / "plugins"
            plugins.mkdir(exist_ok=True)
            (plugins / "pyhudi_page.py").write_text(_PLUGIN, encoding="utf-8")

    def _airflow(self, *arguments: str) -> None:
        with open(self.logs / f"{'-'.join(arguments)}.log", "w", encoding="utf-8") as log:
            command = [sys.executable, "-m", "airflow", *arguments]
            done = subprocess.run(
                command, env=self.environment(), stdout=log, stderr=log, check=False
            )
        if done.returncode:
            told = Path(log.name).read_text(encoding="utf-8")
            raise RuntimeError(f"airflow {' '.join(arguments)} failed: {told[-3000:]}")

    def _is_well(self) -> bool:
        for component in self.components.values():
            if not component.is_alive:
                raise RuntimeError(f"{component.name} ended: {component.end_of_log()}")
        return self.rest.is_healthy()


@contextlib.contextmanager
def running(airflow: LiveAirflow) -> Iterator[LiveAirflow]:
    """The Airflow for as long as the context lasts."""
    airflow.start()
    try:
        yield airflow
    finally:
        airflow.stop()
