"""The client of `hudi_server.py`: real Hudi of one version, as methods."""

from __future__ import annotations

import json
import os
import queue
import shutil
import subprocess
import tempfile
import threading
from pathlib import Path
from types import TracebackType
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tests.interop import hudi_home
from tests.interop.rows import Row, rows_of

ROOT = Path(__file__).resolve().parents[2]
# A session in this process points at its own Spark, gateway and interpreter through these.
SPARK_VARIABLES = (
    "SPARK_HOME",
    "PYSPARK_GATEWAY_PORT",
    "PYSPARK_GATEWAY_SECRET",
    "PYSPARK_SUBMIT_ARGS",
    "PYSPARK_PYTHON",
    "PYSPARK_DRIVER_PYTHON",
)
START_SECONDS = 180
REQUEST_SECONDS = 300


class HudiError(Exception):
    """Real Hudi refused a request; the text has its exceptions."""


class RealHudi:
    """One process with one bundle; a context manager."""

    def __init__(self, version: str) -> None:
        self.version = version
        self._scratch = Path(tempfile.mkdtemp(prefix=f"hudi-{version}-"))
        self._log = self._scratch / "server.log"
        self._answers: queue.Queue[str] = queue.Queue()

    def __enter__(self) -> RealHudi:
        environment = {n: v for n, v in os.environ.items() if n not in SPARK_VARIABLES}
        environment.update(TZ="UTC", PYTHONPATH=str(ROOT))
        with self._log.open("w") as log:
            self._process = subprocess.Popen(
                [str(hudi_home.python()), "-m", "tests.interop.hudi_server", self.version],
                cwd=ROOT,
                env=environment,
                text=True,
                encoding="utf-8",
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=log,
            )
        threading.Thread(target=self._listen, daemon=True).start()
        self._next(START_SECONDS, "start")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        assert self._process.stdin
        self._process.stdin.close()
        try:
            self._process.wait(timeout=30)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        assert self._process.stdout
        self._process.stdout.close()
        shutil.rmtree(self._scratch, ignore_errors=True)

    def _listen(self) -> None:
        assert self._process.stdout
        for line in self._process.stdout:
            self._answers.put(line)
        self._answers.put("")

    def _next(self, seconds: float, request: str) -> Any:
        try:
            line = self._answers.get(timeout=seconds)
        except queue.Empty:
            raise TimeoutError(
                f"hudi {self.version}: no answer to {request}\n{self._tail()}"
            ) from None
        if not line:
            raise HudiError(f"hudi {self.version} ended during {request}\n{self._tail()}")
        answer = json.loads(line)
        if "error" in answer:
            raise HudiError(
                f"hudi {self.version}, {request}: {answer['error']}\n{answer['trace'][-2000:]}"
            )
        return answer["result"]

    def _tail(self) -> str:
        return "\n".join(self._log.read_text(errors="replace").splitlines()[-30:])

    def ask(self, request: str, /, **arguments: Any) -> Any:
        """Send one request and wait for its answer."""
        assert self._process.stdin
        self._process.stdin.write(
            json.dumps({"do": request, "with": arguments}, default=str) + "\n"
        )
        self._process.stdin.flush()
        return self._next(REQUEST_SECONDS, request)

    def read(self, table: Path | str, **query: Any) -> list[Row]:
        """Rows with meta columns; `as_of=`, or `begin=` and `end=`, `optimized=`, `metadata=`."""
        return rows_of(self.read_arrow(table, **query))

    def read_arrow(self, table: Path | str, **query: Any) -> pa.Table:
        """The same as an Arrow table."""
        output = self._scratch / "rows"
        self.ask("read", table=str(table), output=str(output), **query)
        return pa.concat_tables(pq.read_table(p) for p in sorted(output.glob("*.parquet")))

    def write(
        self,
        table: Path | str,
        rows: pa.Table,
        operation: str = "upsert",
        *,
        options: dict[str, str] | None = None,
        mode: str = "append",
    ) -> str:
        """Let Hudi write rows; answer the instant. A table's own properties fill the options in."""
        source = self._scratch / "source.parquet"
        pq.write_table(rows, source)
        return self.ask(
            "write",
            table=str(table),
            source=str(source),
            operation=operation,
            options=options or {},
            mode=mode,
        )

    def bootstrap(self, table: Path | str, source: Path | str, options: dict[str, str]) -> None:
        """Let Hudi make a table of the dataset in a folder."""
        self.ask("bootstrap", table=str(table), source=str(source), options=options)

    def failures(self, table: Path | str, **choices: Any) -> list[str]:
        """What `validate` finds wrong, one text per failed check."""
        checks = self.ask("validate", table=str(table), **choices)
        return [f"{c['check']}: {c['detail']}" for c in checks if not c["ok"]]

    def timeline(self, table: Path | str) -> list[dict[str, str]]:
        """Instants of the active timeline."""
        return self.ask("timeline", table=str(table))

    def slices(self, table: Path | str) -> list[dict[str, Any]]:
        """Latest file slices."""
        return self.ask("slices", table=str(table))
