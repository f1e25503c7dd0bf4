"""A PostgreSQL server on a free port of this machine, with a folder of its own."""

from __future__ import annotations

import os
import pwd
import secrets
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from functools import cached_property
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from tests.airflow_live.processes import Component, free_port

USER = "airflow"
_DEBIAN = Path("/usr/lib/postgresql")
_SERVANTS = ("postgres", "nobody")
"""Whom root starts the server as, which refuses to run as root."""


def server_programs() -> Path | None:
    """The folder with ``initdb`` and ``postgres``: Debian's, one on PATH, or a wheel's."""
    on_path = shutil.which("initdb")
    beside = [Path(os.path.realpath(on_path)).parent] if on_path else []
    debian = sorted(_DEBIAN.glob("*/bin"), key=lambda found: float(found.parent.name), reverse=True)
    wheel = find_spec("pgserver")
    places = list(wheel.submodule_search_locations or ()) if wheel else []
    for folder in (*beside, *debian, *(Path(place) / "pginstall" / "bin" for place in places)):
        if (folder / "initdb").is_file() and (folder / "postgres").is_file():
            return folder
    return None


class Postgres:
    """A server for one Airflow: started empty, reached by password, gone when it is stopped."""

    def __init__(self, programs: Path) -> None:
        self._programs = programs
        self._folder = Path(tempfile.mkdtemp(prefix="pyhudi-postgres-"))
        self._password = secrets.token_hex(16)
        self._component: Component | None = None
        self.port = free_port()

    @property
    def uri(self) -> str:
        """How SQLAlchemy reaches the database, password included."""
        return f"postgresql+psycopg2://{USER}:{self._password}@127.0.0.1:{self.port}/{USER}"

    def start(self) -> None:
        """Make the cluster of databases and the one database, and wait until it answers."""
        data, password = self._folder / "data", self._folder / "password"
        password.write_text(self._password, encoding="utf-8")
        if self._servant is not None:
            for path in (self._folder, password):
                shutil.chown(path, self._servant)
        self._run("initdb", "-D", data, "-U", USER, "-A", "scram-sha-256", "--no-sync",
                  "--encoding=UTF8", "--locale=C", f"--pwfile={password}")  # fmt: skip
        settings = {
            "listen_addresses": "127.0.0.1",
            "port": str(self.port),
            "unix_socket_directories": "",
            # What is lost with the machine is the test.
            "fsync": "off",
            "max_connections": "200",
        }
        command = [str(self._programs / "postgres"), "-D", str(data)]
        for name, value in settings.items():
            command += ["-c", f"{name}={value}"]
        self._component = Component(
            "postgres",
            command,
            log=self._folder / "server.log",
            environment=self._environment,
            as_user=self._servant,
        )
        self._component.wait_until(self._answers, seconds=60)
        self._make_database()

    def stop(self) -> None:
        """End the server and delete its folder."""
        if self._component is not None:
            self._component.stop()
        shutil.rmtree(self._folder, ignore_errors=True)

    @cached_property
    def _servant(self) -> str | None:
        if os.geteuid() != 0:
            return None
        known = {entry.pw_name for entry in pwd.getpwall()}
        return next(name for name in _SERVANTS if name in known)

    @property
    def _environment(self) -> dict[str, str]:
        return {"PATH": os.environ.get("PATH", ""), "LC_ALL": "C"}

    def _run(self, program: str, *arguments: Any) -> None:
        command: Sequence[str] = [str(self._programs / program), *map(str, arguments)]
        done = subprocess.run(
            command,
            user=self._servant,
            cwd=self._folder,
            env=self._environment,
            capture_output=True,
            text=True,
            check=False,
        )
        if done.returncode:
            sys.stderr.write(done.stdout + done.stderr)
            raise RuntimeError(f"{program} of {self._programs} ended with {done.returncode}")

    def _connection(self) -> Any:
        import psycopg2

        return psycopg2.connect(
            host="127.0.0.1",
            port=self.port,
            user=USER,
            password=self._password,
            dbname="postgres",
            connect_timeout=2,
        )

    def _answers(self) -> bool:
        import psycopg2

        try:
            self._connection().close()
        except psycopg2.OperationalError:
            return False
        return True

    def _make_database(self) -> None:
        connection = self._connection()
        connection.autocommit = True
        connection.cursor().execute(f"create database {USER}")
        connection.close()
