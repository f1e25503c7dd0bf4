"""Jobs in processes of their own, which are killed while they run.

Drivers share a JVM, which outlives them, unless they are to have their own.
"""

from __future__ import annotations

import multiprocessing
import os
import runpy
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.connection import Connection
from multiprocessing.context import ForkServerContext
from pathlib import Path
from typing import Any

from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway
from pyspark.sql import SparkSession

from tests.support import traps
from tests.support.spark import ROOT, SHORT_LIVED_JVM, prepare_environment
from tests.support.traps import Trap, times_sprung

# What every job imports, so that none has to.
_PRELOADED = [
    "tests.support.victims",
    *(
        f"pyhudi.spark.services.{name}"
        for name in ("archive", "bootstrap", "clean", "compaction", "undo")
    ),
    "pyhudi.spark.job",
    "pyhudi.spark.writing",
]
_SECONDS = 120
_POLL = 0.02


@dataclass(frozen=True, slots=True, kw_only=True)
class Ended:
    """How a job ended: its exit code, negative for a signal, and what it said."""

    code: int
    said: str
    sprung: int


def forks() -> ForkServerContext:
    """Where processes are forked from that have imported what jobs need."""
    prepare_environment()
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(_PRELOADED)
    return context


class SharedJvm:
    """A JVM with a session that drivers come to and go from; a context manager.

    Tasks run in that JVM too, or in an executor on each of some ``hosts``.
    """

    def __init__(
        self, folder: Path, settings: Sequence[str] = (), *, hosts: Sequence[str] = ()
    ) -> None:
        self._folder, self._settings, self._hosts = folder, settings, hosts
        self._forks = forks()
        self._number = 0

    def __enter__(self) -> SharedJvm:
        self._pipe, there = self._forks.Pipe()
        self._home = _new(self._folder / "jvm")
        arguments = _submit_arguments(self._home, self._settings)
        self._holder = self._forks.Process(
            target=_hold, args=(there, str(self._home), arguments, self._hosts)
        )
        self._holder.start()
        there.close()
        self._gateway = self._answer()
        return self

    def __exit__(self, *_: object) -> None:
        self._pipe.close()
        self._holder.join(_SECONDS)

    def run(
        self, script: str, arguments: Sequence[str], trap: Trap | None = None, *, own: bool = False
    ) -> Ended:
        """Run a job script to its end, whatever that is, with a trap and perhaps its own JVM."""
        self._number += 1
        folder = _new(self._folder / f"job-{self._number}") if own else self._home
        for path in folder.glob("sprung-*"):
            path.unlink()
        (folder / "trap.json").unlink(missing_ok=True)
        if trap is not None:
            trap.lay(folder)
        gateway = _submit_arguments(folder, self._settings) if own else self._gateway
        job = self._forks.Process(
            target=_drive, args=(str(folder), gateway, str(ROOT / "spark_jobs" / script), arguments)
        )
        job.start()
        job.join(_SECONDS)
        if job.exitcode is None:
            job.kill()
            raise AssertionError(f"the job does not end: {(folder / 'said').read_text()}")
        if not own:
            self._pipe.send("wait until nothing runs")
            self._answer()
        said = (folder / "said").read_text(errors="replace")
        return Ended(code=job.exitcode, said=said, sprung=times_sprung(folder))

    def _answer(self) -> Any:
        assert self._pipe.poll(_SECONDS), "the JVM does not answer"
        return self._pipe.recv()


def _new(folder: Path) -> Path:
    folder.mkdir()
    return folder


def _submit_arguments(folder: Path, settings: Sequence[str]) -> str:
    """The arguments of spark-submit; a task may fail three times."""
    every = {
        "spark.python.daemon.module": "tests.support.traps",
        "spark.driver.memory": "512m",
        "spark.executor.memory": "512m",
        "spark.executor.extraJavaOptions": SHORT_LIVED_JVM.replace(" ", r"\ "),
        "spark.driver.extraJavaOptions": SHORT_LIVED_JVM.replace(" ", r"\ "),
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.local.dir": str(folder),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": "2",
        "spark.default.parallelism": "2",
    }
    pairs = [*(f"{name}={value}" for name, value in every.items()), *settings]
    return " ".join(["--master local[2,4]", *(f"--conf {pair}" for pair in pairs), "pyspark-shell"])


def _enter(folder: str, gateway: str | tuple[int, str], words: str = "said") -> None:
    """Make this process one of its own, whose words go to a file."""
    os.setsid()
    out = os.open(f"{folder}/{words}", os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_APPEND)
    for number in (1, 2):
        os.dup2(out, number)
    os.environ[traps.FOLDER] = folder
    if isinstance(gateway, str):
        os.environ["PYSPARK_SUBMIT_ARGS"] = gateway
    else:
        os.environ["PYSPARK_GATEWAY_PORT"] = str(gateway[0])
        os.environ["PYSPARK_GATEWAY_SECRET"] = gateway[1]


def _hold(pipe: Connection, folder: str, gateway: str, hosts: Sequence[str]) -> None:
    """Keep a JVM for others, until they are gone."""
    _enter(folder, gateway, "said-by-java")
    builder = SparkSession.builder
    session = (builder.master(_cluster(folder, hosts)) if hosts else builder).getOrCreate()
    context = session.sparkContext
    context.setLogLevel("OFF")
    parameters = context._gateway.gateway_parameters
    pipe.send((parameters.port, parameters.auth_token))
    while True:
        try:
            pipe.recv()
        except EOFError:
            break
        while context.statusTracker().getActiveStageIds():
            time.sleep(_POLL)
        session.catalog.clearCache()
        pipe.send("nothing runs")
    session.stop()


def _cluster(folder: str, hosts: Sequence[str]) -> str:
    """Start the master of a cluster in this JVM, and a worker of one core on each host.

    Source: LocalSparkCluster, Spark 3.5 and 4.2, all of whose workers are on one host: Spark starts
    no second attempt of a task on the host of the first.
    """
    SparkContext._ensure_initialized()
    deploy = SparkContext._jvm.org.apache.spark.deploy
    nothing = SparkContext._jvm.scala.Option.apply(None)
    settings = SparkConf().set("spark.shuffle.service.port", "0")._jconf
    started = deploy.master.Master.startRpcEnvAndEndpoint("127.0.0.1", 0, 0, settings)
    url = started._1().address().toSparkURL()
    masters = SparkContext._gateway.new_array(SparkContext._jvm.java.lang.String, 1)
    masters[0] = url
    for host in hosts:
        work = (host, 0, 0, 1, 512, masters, f"{folder}/work-{host}", nothing, settings, nothing)
        deploy.worker.Worker.startRpcEnvAndEndpoint(*work)
    return str(url)


def _drive(
    folder: str, gateway: str | tuple[int, str], script: str, arguments: Sequence[str]
) -> None:
    _enter(folder, gateway)
    traps.install()
    traps.is_driver(Path(folder))
    if not isinstance(gateway, str):
        _join()
    sys.argv = [script, *arguments]
    runpy.run_path(script, run_name="__main__")


def _join() -> None:
    """Make the session of a JVM that runs this process's own."""
    gateway = launch_gateway()
    java = gateway.jvm.org.apache.spark.SparkContext.getOrCreate()
    java = gateway.jvm.org.apache.spark.api.java.JavaSparkContext.fromSparkContext(java)
    SparkContext(jsc=java, gateway=gateway, conf=SparkConf(_jconf=java.getConf()))
    SparkSession.builder.getOrCreate()
