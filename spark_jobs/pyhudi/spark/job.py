"""The main function that every job script shares: argv, request, session, result line, exit code.

Standard output carries the one result line, standard error everything else.
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Sequence
from dataclasses import replace
from types import FrameType
from typing import NoReturn, TypeVar

from pyspark.sql import SparkSession

from pyhudi.config.known import refuse_unknown
from pyhudi.flags import SECRETS_PROPERTY, SECRETS_VARIABLE, to_secrets, with_secrets
from pyhudi.jobs.request import APPLICATION_MARKER, FAILURE_MARKER, RESULT_MARKER, Request
from pyhudi.jobs.result import JobResult
from pyhudi.pipeline.stopwatch import with_requests
from pyhudi.spark.early import LateFunction
from pyhudi.spark.failures import explain
from pyhudi.spark.session import job_session
from pyhudi.surroundings import check_surroundings
from pyhudi.table.result_line import (
    deletion_table,
    instant_table,
    is_bootstrap,
    mode_table,
    result_line,
)

logger = logging.getLogger(__name__)

EXIT_STOPPED = 128 + signal.SIGTERM


R = TypeVar("R", bound=Request)
JobFunction = Callable[[SparkSession, R], JobResult]
EarlyAnswer = Callable[[R], JobResult | None]


def run_job(
    argv: Sequence[str],
    request_type: type[R],
    function: JobFunction[R],
    answer_early: EarlyAnswer[R] | None = None,
) -> int:
    """Run one job and answer with the code to exit with.

    ``answer_early`` is asked before Spark starts; a result of it is the job's.

    Guarantees: 0 after the result line is out; 2 when the request is wrong, 3 when another writer
    won, 4 when the surroundings failed, 5 when the engine contradicts itself, 6 when the machine
    lacks something that no retry brings, each with one line after ``PYHUDI_FAILED`` on standard
    error; 143 when stopped by SIGTERM. Stack traces only with ``--verbose`` or PYHUDI_TRACEBACK=1.
    """
    verbose = "--verbose" in argv or bool(os.environ.get("PYHUDI_TRACEBACK"))
    _log_to_stderr(verbose=verbose)
    previous = signal.signal(signal.SIGTERM, _stop)
    try:
        return _run(argv, request_type, function, answer_early)
    except Exception as error:  # noqa: BLE001 - the process ends here, and ends with a code
        return _fail(error, verbose=verbose)
    except _Stopped:
        _say(
            "stopped by SIGTERM before the commit was complete or just after; the next run looks "
            "at the timeline and rolls back what is unfinished"
        )
        return EXIT_STOPPED
    finally:
        signal.signal(signal.SIGTERM, previous)


class _Stopped(BaseException):
    """SIGTERM came; not an Exception, so that no handler on the way takes it for a fault."""


def _stop(_number: int, _frame: FrameType | None) -> NoReturn:
    raise _Stopped


def _run(
    argv: Sequence[str],
    request_type: type[R],
    function: JobFunction[R],
    answer_early: EarlyAnswer[R] | None,
) -> int:
    started = time.perf_counter()
    request = request_type.from_args(argv)
    refuse_unknown(request.options())
    # Java and all that it starts would inherit them.
    secrets = os.environ.pop(SECRETS_VARIABLE, None)
    _warn_of_secrets(request)
    check_surroundings()
    result = answer_early(request) if answer_early else None
    if result is None:
        result = _in_a_session(request, function, started, secrets)
    else:
        _publish(result, request.result_path)
    _tell(result)
    return 0


def _in_a_session(
    request: R, function: JobFunction[R], started: float, secrets: str | None
) -> JobResult:
    name = f"pyhudi {os.path.basename(request.base_path.rstrip('/'))}"
    if isinstance(function, LateFunction):
        function.begin()
    with job_session(name, verbose=request.verbose) as session:
        request = with_secrets(request, secrets or session.sparkContext._conf.get(SECRETS_PROPERTY))
        logger.info(
            "Spark %s on %s is up after %.1f s%s%s",
            session.version,
            session.sparkContext.master,
            time.perf_counter() - started,
            APPLICATION_MARKER,
            session.sparkContext.applicationId,
        )
        start = time.perf_counter() - started
        # Asked now: the JVM may die when the work is done, which is no failure of it.
        application = _application(session)
        done = _with_start(with_requests(lambda: function(session, request)), start)
        result = replace(done, application=application)
        _publish(result, request.result_path)
    return result


def _application(session: SparkSession) -> dict[str, str]:
    """What names Spark's application, and where its page is if it has one."""
    context = session.sparkContext
    found = {"id": context.applicationId, "ui": context.uiWebUrl}
    return {name: value for name, value in found.items() if value}


def _tell(result: JobResult) -> None:
    if result.records.get("failed"):
        logger.warning(
            "%d records could not be written; they are saved under %s",
            result.records["failed"],
            result.failures.get("saved_to"),
        )
    if is_bootstrap(result):
        logger.info("what would be bootstrapped:\n%s", mode_table(result))
    elif result.by_partition:
        logger.info("what would be deleted:\n%s", deletion_table(result))
    if result.by_instant:
        logger.info("what would be archived:\n%s", instant_table(result))
    logger.info("%s", result_line(result))


def _with_start(result: JobResult, start: float) -> JobResult:
    """The result with what it took until Spark was up, in its total too."""
    total = start + result.seconds.get("total", 0.0)
    others = {name: value for name, value in result.seconds.items() if name != "total"}
    return replace(result, seconds={"total": round(total, 3), "start": round(start, 3), **others})


def _warn_of_secrets(request: Request) -> None:
    if to_secrets(request) is not None:
        logger.warning(
            "the command line has secrets, which everyone on this machine can read; give them in "
            'the environment variable %s, as {"storage_options": {"secret_key": "..."}}',
            SECRETS_VARIABLE,
        )


def _publish(result: JobResult, result_path: str | None) -> None:
    text = result.to_json()
    if result_path:
        try:
            _write_at_once(result_path, text)
        except OSError as error:
            # The commit is made, with this file or without it, and the line below says the same.
            logger.warning("cannot write the result to %s: %s", result_path, error)
    print(f"{RESULT_MARKER}{text}", flush=True)


def _write_at_once(path: str, text: str) -> None:
    folder = os.path.dirname(os.path.abspath(path))
    os.makedirs(folder, exist_ok=True)
    with tempfile.NamedTemporaryFile("w", dir=folder, delete=False, encoding="utf-8") as file:
        file.write(text)
    os.replace(file.name, path)


def _fail(error: Exception, *, verbose: bool) -> int:
    explained = explain(error)
    if verbose:
        traceback.print_exception(error)
    _say(f"{type(explained).__name__}: {explained}")
    return explained.exit_code


def _say(message: str) -> None:
    line = " ".join(part.strip() for part in message.splitlines() if part.strip())
    print(f"{FAILURE_MARKER}{line}", file=sys.stderr, flush=True)


def _log_to_stderr(*, verbose: bool) -> None:
    logging.basicConfig(
        stream=sys.stderr,
        level=logging.WARNING,
        format="%(asctime)s %(levelname)s %(name)s: %(message)s",
        datefmt="%H:%M:%S",
    )
    logging.getLogger("pyhudi").setLevel(logging.DEBUG if verbose else logging.INFO)
    # py4j reports a JVM that was killed as an error of its own, with a stack trace.
    logging.getLogger("py4j").setLevel(logging.CRITICAL)
