"""Secrets with a real spark-submit: the job's storage has them, no command line on the machine."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from pyhudi.flags import SECRETS_PROPERTY, SECRETS_VARIABLE

pytestmark = pytest.mark.spark

ROOT = Path(__file__).resolve().parents[2]
SCRIPT = str(ROOT / "spark_jobs" / "upsert.py")
SUBMIT = str(Path(sys.executable).parent / "spark-submit")
KEYS = {"access_key": "AKEYHUNTER2", "secret_key": "hunter2hunter2"}


class EmptyStore(ThreadingHTTPServer):
    """A store of S3 without any object, that notes who asks and what runs on the machine then."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Answer)
        self.signatures: list[str] = []
        self.command_lines: list[str] = []

    @property
    def options(self) -> dict[str, str]:
        """The storage options that lead here, without keys."""
        where = f"127.0.0.1:{self.server_port}"
        return {"endpoint_override": where, "scheme": "http", "region": "eu-west-1"}


class Answer(BaseHTTPRequestHandler):
    server: EmptyStore

    def _answer(self) -> None:
        self.server.signatures.append(self.headers.get("Authorization", ""))
        for process in Path("/proc").glob("[0-9]*/cmdline"):
            with suppress(OSError):
                line = process.read_bytes().replace(b"\0", b" ").decode(errors="replace")
                self.server.command_lines.append(line)
        self.send_response(404)
        self.send_header("Content-Length", "0")
        self.end_headers()

    do_GET = do_HEAD = do_PUT = do_POST = _answer  # noqa: N815 - names of the standard library

    def log_message(self, *_: object) -> None:
        """Print nothing."""


@pytest.fixture
def store() -> Iterator[EmptyStore]:
    server = EmptyStore()
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture
def landing(tmp_path: Path) -> str:
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table({"id": ["a", "b"]}), path)
    return str(path)


def submit(store: EmptyStore, landing: str, *conf: str, **more: str) -> str:
    arguments = ["--base-path", "s3://bucket/table", "--source", landing, "--record-key=id"]
    for name, value in store.options.items():
        arguments += ["--storage-option", f"{name}={value}"]
    done = subprocess.run(
        [SUBMIT, *conf, SCRIPT, *arguments, "--table-name=rows"],
        capture_output=True,
        text=True,
        env={name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
        | {"PYSPARK_PYTHON": sys.executable, **more},
        check=False,
    )
    assert done.returncode != 0, "nothing can be written to this store"
    return done.stdout + done.stderr


def check(store: EmptyStore, shown: str) -> None:
    assert any("Credential=AKEYHUNTER2/" in text for text in store.signatures), shown
    assert any("SparkSubmit" in line and SCRIPT in line for line in store.command_lines)
    for text in (shown, *store.command_lines):
        assert "hunter2hunter2" not in text
        assert "AKEYHUNTER2" not in text


def test_a_job_has_the_secrets_of_its_environment(store: EmptyStore, landing: str) -> None:
    shown = submit(store, landing, **{SECRETS_VARIABLE: json.dumps({"storage_options": KEYS})})
    check(store, shown)


def test_a_job_has_the_secrets_of_spark_s_properties(store, landing: str, tmp_path: Path) -> None:
    file = tmp_path / "spark.properties"
    text = json.dumps({"storage_options": KEYS})
    file.write_text(f"{SECRETS_PROPERTY}={text}\n", encoding="utf-8")
    check(store, submit(store, landing, "--verbose", "--properties-file", str(file)))
