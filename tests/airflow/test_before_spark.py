"""What a task says before Spark starts, and what a failed submission turns out to have done."""

from pathlib import Path
from typing import Any

import pytest
from airflow.sdk.exceptions import AirflowSkipException

from airflow_provider_pyhudi.exceptions import (
    PyhudiConflictError,
    PyhudiEnvironmentError,
    PyhudiRequestError,
    PyhudiSetupError,
)
from airflow_provider_pyhudi.hooks.table import PyhudiHook
from airflow_provider_pyhudi.operators import upsert as operator_module
from airflow_provider_pyhudi.operators.compaction import PyhudiCompactionOperator
from airflow_provider_pyhudi.operators.upsert import PyhudiUpsertOperator
from airflow_provider_pyhudi.submit.spark_submit import PyhudiSparkSubmitHook
from pyhudi.jobs.result import JobResult
from pyhudi.storage.local_source import check_source
from tests.support.airflow import Submissions, catch_submissions, task_context, timeline_folder

COMMITTED = JobResult(
    status="committed",
    operation="upsert",
    table="flights",
    base_path="/data/flights",
    instant="20260102030405678",
)


def make(tmp_path: Path, **settings: Any) -> PyhudiUpsertOperator:
    given: dict[str, Any] = {
        "task_id": "upsert",
        "base_path": str(tmp_path / "flights"),
        "source": str(tmp_path / "landing"),
        "table_name": "flights",
    }
    return PyhudiUpsertOperator(**(given | settings))


def run(task: Any) -> dict[str, Any]:
    returned: dict[str, Any] = task.execute(task_context(task))
    return returned


@pytest.fixture
def submissions(monkeypatch: pytest.MonkeyPatch) -> Submissions:
    caught = catch_submissions(monkeypatch, COMMITTED)
    monkeypatch.setattr(operator_module, "check_source", check_source)
    for name in ("HADOOP_CONF_DIR", "YARN_CONF_DIR"):
        monkeypatch.delenv(name, raising=False)
    return caught


@pytest.mark.parametrize(
    ("wish", "error"),
    [
        pytest.param(None, PyhudiRequestError, id="fail, as ever"),
        pytest.param("fail", PyhudiRequestError, id="fail"),
        pytest.param("retry", PyhudiEnvironmentError, id="retry"),
        pytest.param("skip", AirflowSkipException, id="skip"),
    ],
)
def test_a_missing_source_is_noticed_before_spark_starts(
    tmp_path: Path, submissions: Submissions, wish: str | None, error: type[Exception]
) -> None:
    task = make(tmp_path, if_source_missing=wish)
    with pytest.raises(error) as caught:
        run(task)
    assert str(caught.value) == f"the source {tmp_path}/landing does not exist; check source="
    # Airflow shows it last, and it would have the words of a command line.
    assert caught.value.__cause__ is None
    assert submissions == []


def test_a_source_that_spark_looks_for_elsewhere_is_left_to_it(
    tmp_path: Path, submissions: Submissions, monkeypatch: pytest.MonkeyPatch
) -> None:
    run(make(tmp_path, conf={"spark.hadoop.fs.defaultFS": "hdfs://n"}))
    run(make(tmp_path, env_vars={"HADOOP_CONF_DIR": "/etc/hadoop"}))
    monkeypatch.setenv("AIRFLOW_CONN_YARN", '{"conn_type": "spark", "host": "yarn"}')
    run(make(tmp_path, conn_id="yarn"))
    gone = f"file://{tmp_path}/landing"
    run(make(tmp_path, conn_id="yarn", deploy_mode="cluster", durable=False, source=gone))
    assert len(submissions) == 4
    with pytest.raises(PyhudiRequestError, match="does not exist"):
        run(make(tmp_path, conn_id="yarn", source=gone))


def test_a_job_that_skipped_its_source_skips_the_task(
    tmp_path: Path, submissions: Submissions
) -> None:
    submissions.result = JobResult(
        status="skipped",
        operation="upsert",
        table="flights",
        base_path="/data/flights",
        reason="the source s3://b/x does not exist; check --source",
    )
    with pytest.raises(AirflowSkipException, match=r"s3://b/x does not exist; check source="):
        run(make(tmp_path, source="s3://b/x", if_source_missing="skip"))


def test_a_wish_that_does_not_exist_is_refused(tmp_path: Path, submissions: Submissions) -> None:
    message = "if_source_missing= is 'wait'; allowed: fail, retry, skip"
    with pytest.raises(PyhudiRequestError, match=message):
        run(make(tmp_path, if_source_missing="wait"))


@pytest.fixture
def bare(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """A machine as it is, and a source; nothing is submitted."""
    (tmp_path / "landing").touch()
    monkeypatch.delenv("SPARK_CONF_DIR", raising=False)
    monkeypatch.setattr(PyhudiSparkSubmitHook, "submit", lambda *_, **__: pytest.fail("submitted"))


@pytest.mark.usefixtures("bare")
def test_a_machine_without_java_fails_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JAVA_HOME", "/nowhere")
    with pytest.raises(PyhudiSetupError, match="JAVA_HOME is /nowhere"):
        run(make(tmp_path))
    elsewhere = PyhudiCompactionOperator(
        task_id="compact", base_path=str(tmp_path / "t"), env_vars={"JAVA_HOME": "/wrong"}
    )
    with pytest.raises(PyhudiSetupError, match="JAVA_HOME is /wrong"):
        run(elsewhere)


@pytest.mark.usefixtures("bare")
def test_two_versions_of_spark_fail_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    versions = {"pyspark": "4.3.0", "pyspark-client": "4.2.0"}
    monkeypatch.setattr("pyhudi.surroundings.installed_version", versions.get)
    with pytest.raises(PyhudiSetupError, match="Install one version of both"):
        run(make(tmp_path))


def test_another_writer_at_work_is_told_before_spark_starts(
    tmp_path: Path, submissions: Submissions, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "landing").touch()
    dead, alive = "20260101000000000", "20260102000000000"
    pending = [f"{time}.{state}" for time in (dead, alive) for state in ("commit.requested",)]
    table = Path(timeline_folder(tmp_path / "flights", *pending))
    (table / ".hoodie" / ".heartbeat").mkdir()
    (table / ".hoodie" / ".heartbeat" / alive).touch()
    run(make(tmp_path))
    told = [line for line in capsys.readouterr().out.splitlines() if "at work" in line]
    assert len(told) == 1
    assert f"Another writer is at work on {table} (instant {alive}); this one" in told[0]
    assert len(submissions) == 1
    with pytest.raises(PyhudiConflictError, match=rf"at work \(instant {alive}\).*{table}"):
        run(make(tmp_path, hoodie_conf={"pyhudi.write.wait.seconds": 0}))
    assert len(submissions) == 1


def test_a_job_that_is_killed_after_its_commit_is_a_success(
    tmp_path: Path, submissions: Submissions, monkeypatch: pytest.MonkeyPatch
) -> None:
    looks: list[str] = []

    def find(_: PyhudiHook, path: str, key: str, **__: object) -> JobResult | None:
        looks.append(key)
        earlier = JobResult.from_json(COMMITTED.to_json().replace("committed", "already_committed"))
        return earlier if len(looks) > 1 else None

    def die(*_: Any, **__: Any) -> None:
        raise PyhudiEnvironmentError("Spark was killed (signal 9)")

    monkeypatch.setattr(PyhudiHook, "find_commit", find)
    monkeypatch.setattr(PyhudiSparkSubmitHook, "submit", die)
    returned = run(make(tmp_path, source="s3://b/x"))
    assert (returned["status"], returned["instant"]) == ("committed", COMMITTED.instant)
    assert len(looks) == 2
    assert len(set(looks)) == 1


def test_a_job_that_dies_after_its_result_keeps_what_it_measured(
    tmp_path: Path, submissions: Submissions, monkeypatch: pytest.MonkeyPatch
) -> None:
    def publish_and_die(hook: PyhudiSparkSubmitHook, application: str) -> None:
        submissions.submit(hook, application)
        raise PyhudiEnvironmentError("Spark was killed (signal 9)")

    monkeypatch.setattr(PyhudiSparkSubmitHook, "submit", publish_and_die)
    assert run(make(tmp_path, source="s3://b/x"))["status"] == "committed"


def test_a_job_that_is_killed_before_its_commit_fails(
    tmp_path: Path, submissions: Submissions, monkeypatch: pytest.MonkeyPatch
) -> None:
    def die(*_: Any, **__: Any) -> None:
        raise PyhudiEnvironmentError("Spark was killed (signal 9)")

    monkeypatch.setattr(PyhudiSparkSubmitHook, "submit", die)
    with pytest.raises(PyhudiEnvironmentError, match="signal 9"):
        run(make(tmp_path, source="s3://b/x"))


def test_a_cluster_that_wrote_nothing_counts_zero_records(
    tmp_path: Path, submissions: Submissions, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AIRFLOW_CONN_YARN", '{"conn_type": "spark", "host": "yarn"}')
    task = make(tmp_path, conn_id="yarn", deploy_mode="cluster", durable=False)
    returned = run(task)
    assert (returned["status"], returned["instant"]) == ("nothing_to_do", None)
    none = dict.fromkeys(("inserted", "updated", "deleted", "ignored", "failed"), 0)
    assert returned["records"] == none
