"""What a job does before Spark is up, and beside its start."""

from __future__ import annotations

from contextlib import suppress
from importlib import import_module
from threading import Thread
from typing import Any

from pyspark.sql import SparkSession

from pyhudi.errors import MissingSourceError
from pyhudi.jobs.result import JobResult
from pyhudi.jobs.upsert import UpsertRequest
from pyhudi.spark.session import reads_local_paths
from pyhudi.storage.local_source import check_source
from pyhudi.table.result import without_source


def answer_before_spark(request: UpsertRequest) -> JobResult | None:
    """The answer to a request whose source is seen to be missing, as far as this machine sees.

    None goes on: Spark finds out about sources that lie elsewhere.

    Raises:
        MissingSourceError: the source is not there, and that is not to be skipped.
        LateSourceError: it is not there yet, and a retry is asked for.
    """
    if not request.source:
        return None
    try:
        check_source(request.source, request.source_format, is_local=reads_local_paths())
    except MissingSourceError as error:
        return without_source(request, error)
    return None


class LateFunction:
    """A job's function by name, whose module is imported while the JVM is busy with its start.

    The engine takes more than a second of processor time to import, and a session seconds in which
    this process only waits.
    """

    def __init__(self, module: str, name: str) -> None:
        self._module, self._name = module, name

    def begin(self) -> None:
        """Import the module beside whatever else is done."""
        Thread(target=self._import, name="pyhudi-imports").start()

    def __call__(self, session: SparkSession, request: Any) -> JobResult:
        """Carry the request out."""
        # Who imports what another thread is importing waits for that.
        function = getattr(import_module(self._module), self._name)
        result: JobResult = function(session, request)
        return result

    def _import(self) -> None:
        # The call imports again, and whoever called is told then.
        with suppress(ImportError):
            import_module(self._module)
