"""How a job reaches Spark: master, binary, exit codes."""

import inspect
import os
import stat
import sys
import threading
from pathlib import Path
from typing import Any

import pytest
from airflow.providers.apache.spark.hooks.spark_submit import SparkSubmitHook
from airflow.providers.apache.spark.operators import spark_submit as parent

from airflow_provider_pyhudi.exceptions import (
    PyhudiConflictError,
    PyhudiEnvironmentError,
    PyhudiInternalError,
    PyhudiRequestError,
    PyhudiSetupError,
)
from airflow_provider_pyhudi.operators.upsert import PyhudiUpsertOperator
from airflow_provider_pyhudi.submit.spark_submit import PyhudiSparkSubmitHook

CLUSTER = '{"conn_type": "spark", "host": "spark://m", "port": 7077}'


def test_without_a_connection_spark_runs_on_this_machine_by_the_binary_beside_python() -> None:
    hook = PyhudiSparkSubmitHook()
    assert hook._connection["master"] == "local[*]"
    assert hook._connection["deploy_mode"] == "client"
    assert hook._get_spark_binary_path() == [str(Path(sys.executable).parent / "spark-submit")]


def test_a_named_connection_that_is_missing_is_named_in_the_error() -> None:
    with pytest.raises(PyhudiRequestError, match="no Spark connection 'my_cluster'"):
        PyhudiSparkSubmitHook(conn_id="my_cluster")


def test_cluster_mode_without_a_cluster_is_refused() -> None:
    with pytest.raises(PyhudiRequestError, match="needs a cluster"):
        PyhudiSparkSubmitHook(deploy_mode="cluster")


def test_spark_default_is_taken_and_its_cluster_reached_by_the_binary_on_path(
    monkeypatch, tmp_path: Path
) -> None:
    binary = executable(tmp_path / "spark-submit", "exit 0")
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", CLUSTER)
    hook = PyhudiSparkSubmitHook()
    assert hook._connection["master"] == "spark://m:7077"
    assert hook._get_spark_binary_path() == [binary]


def test_a_missing_binary_says_what_to_install(monkeypatch, tmp_path: Path) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    with pytest.raises(PyhudiSetupError, match="pip install pyspark"):
        PyhudiSparkSubmitHook()


def test_every_parameter_of_the_parent_hook_is_passed(monkeypatch: pytest.MonkeyPatch) -> None:
    passed: dict[str, dict[str, Any]] = {}
    monkeypatch.setattr(parent, "SparkSubmitHook", lambda **given: passed.update(parent=given))
    monkeypatch.setattr(
        "airflow_provider_pyhudi.operators.job.PyhudiSparkSubmitHook",
        lambda **given: passed.update(ours=given),
    )
    settings: dict[str, Any] = {
        "conf": {"spark.x": "1"},
        "archives": "a.zip",
        "driver_memory": "3g",
        "executor_cores": 4,
        "num_executors": 5,
        "yarn_queue": "q",
        "deploy_mode": "client",
        "env_vars": {"A": "b"},
        "principal": "p",
        "post_submit_commands": ["true"],
        "name": "n",
        "conn_id": "c",
    }
    task = PyhudiUpsertOperator(task_id="t", base_path="/t", source="/s", **settings)
    task._get_hook()
    parent.SparkSubmitOperator._get_hook(task)
    assert passed["ours"].pop("secrets") is None
    assert passed["ours"].pop("is_brief") is True
    assert passed["ours"] == passed["parent"]
    names = set(inspect.signature(SparkSubmitHook.__init__).parameters) - {"self"}
    assert set(passed["ours"]) == names


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch) -> None:
    java = ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "SPARK_SUBMIT_OPTS")
    for name in ("SPARK_HOME", "PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON", *java):
        monkeypatch.delenv(name, raising=False)


BRIEF = "spark.driver.defaultJavaOptions=-XX:TieredStopAtLevel=1"


def command_of(**given: Any) -> list[str]:
    return PyhudiSparkSubmitHook(is_brief=True, **given)._build_spark_submit_command("upsert.py")


@pytest.mark.usefixtures("bare")
def test_a_brief_job_on_this_machine_goes_without_the_second_compiler() -> None:
    command = command_of(conf={"spark.x": "1"})
    assert command[command.index(BRIEF) - 1] == "--conf"
    assert BRIEF not in PyhudiSparkSubmitHook()._build_spark_submit_command("upsert.py")


@pytest.mark.usefixtures("bare")
def test_whoever_says_how_java_runs_is_heard(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    properties = tmp_path / "spark.properties"
    properties.write_text("spark.x 1\n", encoding="utf-8")
    assert BRIEF not in command_of(conf={"spark.driver.extraJavaOptions": "-Xss8m"})
    assert BRIEF not in command_of(properties_file=str(properties))
    assert BRIEF not in command_of(env_vars={"JDK_JAVA_OPTIONS": "-Xss8m"})
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", CLUSTER)
    assert BRIEF not in command_of()


def executable(path: Path, body: str) -> str:
    path.write_text(f"#!/bin/sh\n{body}\n", encoding="utf-8")
    path.chmod(path.stat().st_mode | stat.S_IXUSR)
    return str(path)


@pytest.mark.parametrize(
    ("code", "error"),
    [
        pytest.param(2, PyhudiRequestError, id="the request is wrong"),
        pytest.param(3, PyhudiConflictError, id="another writer won"),
        pytest.param(4, PyhudiEnvironmentError, id="the surroundings failed"),
        pytest.param(5, PyhudiInternalError, id="the engine contradicts itself"),
        pytest.param(6, PyhudiSetupError, id="the machine lacks something"),
        pytest.param(1, PyhudiEnvironmentError, id="spark-submit itself failed"),
    ],
)
def test_the_exit_code_of_the_job_decides_the_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: int, error: type[Exception]
) -> None:
    body = f"echo 'PYHUDI_FAILED SomeError: why it failed' >&2; exit {code}"
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    executable(tmp_path / "spark-submit", body)
    hook = PyhudiSparkSubmitHook()
    with pytest.raises(error) as caught:
        hook.submit("upsert.py")
    assert str(caught.value) == "SomeError: why it failed"


def test_a_machine_without_java_is_told_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    executable(tmp_path / "spark-submit", "echo 'JAVA_HOME is not set' >&2; exit 1")
    with pytest.raises(PyhudiSetupError, match="Java 17 or 21"):
        PyhudiSparkSubmitHook().submit("upsert.py")


def failing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str) -> PyhudiSparkSubmitHook:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    executable(tmp_path / "spark-submit", body)
    return PyhudiSparkSubmitHook(application_args=["--many", "words"])


@pytest.mark.parametrize(
    "body",
    [
        pytest.param("kill -9 $$", id="the JVM"),
        pytest.param("exit 137", id="the Python driver"),
        pytest.param("echo UnsupportedClassVersionError in a log; kill -9 $$", id="while it ran"),
    ],
)
def test_a_process_that_was_killed_is_said_in_a_plain_line(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, body: str
) -> None:
    with pytest.raises(PyhudiEnvironmentError) as caught:
        failing(tmp_path, monkeypatch, body).submit("upsert.py")
    message = str(caught.value)
    assert message.startswith("Spark was killed (signal 9), often by the system for want of memory")
    assert "driver_memory=" in message
    assert "--" not in message
    assert "\n" not in message


@pytest.mark.parametrize(
    ("said", "error"),
    [
        pytest.param("java.lang.UnsupportedClassVersionError: x", PyhudiSetupError, id="old Java"),
        pytest.param("/nope/bin/java: No such file or directory", PyhudiSetupError, id="no Java"),
        pytest.param("Could not reserve enough space", PyhudiEnvironmentError, id="no memory"),
    ],
)
def test_what_java_says_decides_whether_a_retry_can_help(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, said: str, error: type[Exception]
) -> None:
    with pytest.raises(error, match="Java"):
        failing(tmp_path, monkeypatch, f"echo '{said}'; exit 1").submit("upsert.py")


def test_the_job_s_own_words_win_over_those_of_java(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    body = "echo 'PYHUDI_FAILED SourceError: mine'; echo 'JAVA_HOME is not set'; exit 2"
    with pytest.raises(PyhudiRequestError, match=r"^SourceError: mine$"):
        failing(tmp_path, monkeypatch, body).submit("upsert.py")


def test_an_end_without_a_reason_shows_the_last_line_and_not_the_command(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(PyhudiEnvironmentError) as caught:
        failing(tmp_path, monkeypatch, "echo one; echo 'the last'; exit 1").submit("upsert.py")
    assert str(caught.value) == (
        "spark-submit ended with exit code 1 and no reason; its last line: the last"
    )


def environment_of(hook: PyhudiSparkSubmitHook) -> dict[str, Any]:
    hook._build_spark_submit_command("upsert.py")
    return hook._env or {}


@pytest.mark.usefixtures("bare")
def test_on_this_machine_driver_and_workers_take_airflow_s_python() -> None:
    environment = environment_of(PyhudiSparkSubmitHook(env_vars={"MINE": "1"}))
    assert environment["PYSPARK_PYTHON"] == sys.executable
    assert environment["SPARK_HOME"].endswith("/pyspark")
    assert environment["MINE"] == "1"


@pytest.mark.usefixtures("bare")
def test_a_cluster_s_workers_keep_their_python(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", '{"conn_type": "spark", "host": "yarn"}')
    assert "PYSPARK_PYTHON" not in environment_of(PyhudiSparkSubmitHook())
    cluster = PyhudiSparkSubmitHook(deploy_mode="cluster")
    assert not {"PYSPARK_PYTHON", "PYSPARK_DRIVER_PYTHON"} & set(environment_of(cluster))


@pytest.mark.usefixtures("bare")
def test_a_packed_python_is_the_workers_and_not_that_of_a_driver_here(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("AIRFLOW_CONN_SPARK_DEFAULT", '{"conn_type": "spark", "host": "yarn"}')
    packed = {"spark.pyspark.python": "./environment/bin/python"}
    command = PyhudiSparkSubmitHook(conf=packed)._build_spark_submit_command("upsert.py")
    assert f"spark.pyspark.driver.python={sys.executable}" in command
    chosen = {**packed, "spark.pyspark.driver.python": "/opt/python"}
    command = PyhudiSparkSubmitHook(conf=chosen)._build_spark_submit_command("upsert.py")
    assert "spark.pyspark.driver.python=/opt/python" in command
    cluster = PyhudiSparkSubmitHook(conf=packed, deploy_mode="cluster")
    assert "driver.python" not in " ".join(cluster._build_spark_submit_command("upsert.py"))


@pytest.mark.usefixtures("bare")
def test_a_python_that_was_chosen_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYSPARK_PYTHON", "/opt/python")
    assert environment_of(PyhudiSparkSubmitHook())["PYSPARK_PYTHON"] == "/opt/python"


def test_killing_stops_the_driver_as_well(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    mark = tmp_path / "stopped"
    driver = executable(
        tmp_path / "driver",
        f"trap 'echo yes > {mark}; exit 143' TERM\necho started\nwhile :; do sleep 0.1; done",
    )
    executable(tmp_path / "spark-submit", f"{driver} &\nwait")
    hook = PyhudiSparkSubmitHook()
    started = threading.Event()
    monkeypatch.setattr(hook, "_watch", lambda lines: (started.set() or line for line in lines))
    thread = threading.Thread(target=hook.submit, args=("upsert.py",))
    thread.start()
    assert started.wait(timeout=10)
    hook.on_kill()
    thread.join(timeout=20)
    assert not thread.is_alive()
    assert mark.read_text(encoding="utf-8") == "yes\n"
