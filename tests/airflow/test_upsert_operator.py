"""From the arguments in a DAG to a command, and from the job's result to XCom."""

import sys
from dataclasses import replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

import pytest
from airflow.providers.apache.spark.operators.spark_submit import SparkSubmitOperator
from airflow.sdk import DAG, Asset

from airflow_provider_pyhudi.bundle import job_script
from airflow_provider_pyhudi.exceptions import PyhudiRequestError
from airflow_provider_pyhudi.hooks.table import PyhudiHook
from airflow_provider_pyhudi.operators.upsert import PyhudiUpsertOperator
from airflow_provider_pyhudi.stamp import idempotency_key, key_since, slot_key
from airflow_provider_pyhudi.submit.spark_submit import PyhudiSparkSubmitHook
from pyhudi.flags import flags_of
from pyhudi.jobs.result import JobResult
from pyhudi.jobs.upsert import UpsertRequest
from tests.support.airflow import Submissions, catch_submissions, task_context

COMMITTED = JobResult(
    status="committed",
    operation="upsert",
    table="flights",
    base_path="/data/flights",
    instant="20260102030405678",
    records={"inserted": 3, "updated": 1, "deleted": 0, "failed": 0},
    partitions=("EWR", "JFK"),
)


def make(**settings: Any) -> PyhudiUpsertOperator:
    given: dict[str, Any] = {
        "task_id": "upsert",
        "base_path": "/data/flights",
        "source": "/landing/2013-02",
        "table_name": "flights",
    }
    with DAG("flights", start_date=datetime(2013, 1, 1, tzinfo=timezone.utc)):
        return PyhudiUpsertOperator(**(given | settings))


@pytest.fixture
def submissions(monkeypatch: pytest.MonkeyPatch) -> Submissions:
    return catch_submissions(monkeypatch, COMMITTED)


@pytest.fixture
def landed(monkeypatch: pytest.MonkeyPatch) -> dict[str, JobResult]:
    """What the timeline holds, by idempotency key."""
    commits: dict[str, JobResult] = {}
    monkeypatch.setattr(PyhudiHook, "find_commit", lambda _, path, key, **__: commits.get(key))
    return commits


def test_the_command_is_exactly_this(submissions: Submissions, landed: Any) -> None:
    task = make(
        record_key=["carrier", "flight"],
        partition_path="origin",
        ordering_field="updated_at",
        operation="insert",
        hoodie_conf={"hoodie.parquet.max.file.size": 1000},
        commit_metadata={"team": "ops"},
        driver_memory="2g",
    )
    context = task_context(task)
    task.execute(context)
    (command,) = submissions
    binary = str(Path(sys.executable).parent / "spark-submit")
    head = [binary, "--master", "local[*]", "--driver-memory", "2g", "--name", "flights.upsert"]
    assert command[: len(head) + 3] == [*head, "--deploy-mode", "client", job_script("upsert")]
    request = UpsertRequest.from_args(command[len(head) + 3 :])
    assert request.idempotency_key == idempotency_key(context)
    assert request.idempotency_since == key_since(context, is_own_key=False)
    assert request.commit_metadata["team"] == "ops"
    assert request.commit_metadata["airflow.task_id"] == "upsert"
    assert command[len(head) + 3 :][:22] == [
        *("--base-path", "/data/flights"),
        *("--source", "/landing/2013-02"),
        *("--table-name", "flights"),
        *("--operation", "insert"),
        *("--record-key", "carrier,flight"),
        *("--partition-path", "origin"),
        *("--ordering-field", "updated_at"),
        *("--source-format", "parquet"),
        *("--slot-key", slot_key(context)),
        *("--slot-since", "2013-03-01T00:00:00+00:00"),
        *("--hoodie-conf", "hoodie.parquet.max.file.size=1000"),
    ]


def test_the_result_is_returned(submissions: Submissions, landed: Any) -> None:
    task = make()
    returned = task.execute(task_context(task))
    assert (returned["instant"], returned["records"]["inserted"]) == ("20260102030405678", 3)
    assert returned["partition_count"] == 2


def test_the_log_ends_with_what_became_of_the_rows(
    submissions: Submissions, landed: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    task = make()
    task.execute(task_context(task))
    last = capsys.readouterr().out.splitlines()[-1]
    assert "flights: upsert committed 20260102030405678: 3 inserted, 1 updated" in last


def test_a_failed_job_is_told_by_its_reason_alone(landed: Any, tmp_path: Path, monkeypatch) -> None:
    """Airflow shows the causes of an error behind it: the reason is the last line."""
    submit = tmp_path / "spark-submit"
    submit.write_text("#!/bin/sh\necho 'PYHUDI_FAILED SchemaError: why' >&2\nexit 2\n")
    submit.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(tmp_path / "python"))
    task = make(source="s3a://landing/2013-02", packages="org.apache.hadoop:hadoop-aws:3.5.0")
    with pytest.raises(PyhudiRequestError, match=r"^SchemaError: why$") as caught:
        task.execute(task_context(task))
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__


def test_a_retry_whose_commit_landed_submits_nothing(
    submissions: Submissions, landed: dict[str, JobResult]
) -> None:
    task = make(retries=2)
    first = task_context(task, try_number=1)
    earlier = JobResult.from_json(COMMITTED.to_json().replace("committed", "already_committed", 1))
    landed[idempotency_key(first)] = earlier
    assert task.execute(task_context(task, try_number=2))["status"] == "already_committed"
    assert submissions == []


def test_a_cleared_task_is_submitted_again(submissions: Submissions, landed: dict[str, JobResult]):
    task = make()
    landed[idempotency_key(task_context(task))] = COMMITTED
    task.execute(task_context(task, try_number=2, cleared=1))
    assert len(submissions) == 1


def test_without_a_result_file_the_timeline_tells(
    submissions: Submissions, landed: dict[str, JobResult], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AIRFLOW_CONN_YARN", '{"conn_type": "spark", "host": "yarn"}')
    task = make(conn_id="yarn", deploy_mode="cluster", durable=False)
    context = task_context(task)
    key = idempotency_key(context)

    def submit_and_land(*args: Any, **kwargs: Any) -> None:
        submissions.submit(*args, **kwargs)
        landed[key] = COMMITTED

    monkeypatch.setattr(PyhudiSparkSubmitHook, "submit", submit_and_land)
    assert task.execute(context)["status"] == "committed"
    (command,) = submissions
    assert "--result-path" not in command


def test_a_cluster_is_sent_the_engine(submissions: Submissions, landed: Any, monkeypatch) -> None:
    monkeypatch.setenv(
        "AIRFLOW_CONN_M", '{"conn_type": "spark", "host": "spark://m", "port": 7077}'
    )
    task = make(conn_id="m", py_files="mine.zip")
    task.execute(task_context(task))
    (command,) = submissions
    mine, engine = command[command.index("--py-files") + 1].split(",")
    assert mine == "mine.zip"
    assert Path(engine).name.startswith("pyhudi-")


def test_a_job_id_from_before_a_clear_is_not_found_again(submissions: Submissions, landed: Any):
    task = make()
    task.execute(task_context(task))
    before = task.external_id_key
    task.execute(task_context(task, cleared=1))
    assert task.external_id_key != before


def test_nothing_to_do_is_a_success(submissions: Submissions, landed: Any) -> None:
    submissions.result = JobResult(
        status="nothing_to_do", operation="upsert", table="flights", base_path="/data/flights"
    )
    task = make()
    assert task.execute(task_context(task))["status"] == "nothing_to_do"


def test_the_asset_event_carries_the_instant(submissions: Submissions, landed: Any) -> None:
    asset = Asset("file:///data/flights")
    task = make(outlets=[asset])
    context = task_context(task)
    task.execute(context)
    extra = context["outlet_events"][asset].extra
    assert (extra["instant"], extra["records"]["updated"]) == ("20260102030405678", 1)


def test_all_arguments_of_the_job_are_rendered() -> None:
    task = make(
        source=["/landing/{{ data_interval_start.strftime('%Y-%m') }}"],
        operation="{{ 'insert' }}",
        hoodie_conf={"hoodie.parquet.max.file.size": "{{ 2 * 3 }}"},
        sql="SELECT * FROM source WHERE at < '{{ data_interval_end.date() }}'",
    )
    context = task_context(task)
    task.render_template_fields(context)
    request = task.request(context)
    assert (request.source, request.operation) == ("/landing/2013-02", "insert")
    assert request.hoodie_conf == {"hoodie.parquet.max.file.size": "6"}
    assert request.sql == "SELECT * FROM source WHERE at < '2013-03-01'"


@pytest.mark.parametrize(
    "operation", ["upsert", "insert", "bulk_insert", "delete", "insert_overwrite"]
)
def test_every_operation_that_takes_rows_is_submitted(
    operation: str, submissions: Submissions, landed: Any
) -> None:
    task = make(operation=operation)
    task.execute(task_context(task))
    (command,) = submissions
    assert command[command.index("--operation") + 1] == operation


def test_partitions_are_deleted_without_a_source(submissions: Submissions, landed: Any) -> None:
    task = make(
        source=None,
        operation="delete_partition",
        partitions_to_delete=["{{ data_interval_start.strftime('%Y/%m') }}", "old*"],
    )
    context = task_context(task)
    task.render_template_fields(context)
    task.execute(context)
    (command,) = submissions
    assert command[command.index("--partitions-to-delete") + 1] == "2013/02,old*"
    assert "--source" not in command


@pytest.mark.parametrize("source", [None, [], ""])
def test_without_a_source_nothing_else_is_submitted(submissions: Submissions, source: Any) -> None:
    task = make(source=source)
    with pytest.raises(PyhudiRequestError, match="there is no source"):
        task.execute(task_context(task))
    assert submissions == []


def test_the_parent_s_templated_fields_stay_templated() -> None:
    assert set(SparkSubmitOperator.template_fields) <= set(PyhudiUpsertOperator.template_fields)


def test_every_flag_of_the_job_has_an_argument() -> None:
    task = make()
    own = {"idempotency_key", "idempotency_since", "result_path", "verbose"}
    own |= {"ordering_value", "slot_key", "slot_since"}
    flags = set(flags_of(UpsertRequest)) - own
    assert [name for name in sorted(flags) if not hasattr(task, name)] == []


def test_killing_before_the_submission_looks_up_nothing() -> None:
    make(conn_id="not_there").on_kill()


def test_a_path_is_relative_to_the_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(
        "AIRFLOW_CONN_LAKE",
        '{"conn_type": "pyhudi", "host": "s3://b/lake", '
        '"extra": {"storage_options": {"region": "x"}}}',
    )
    task = make(base_path="flights", pyhudi_conn_id="lake")
    request = task.request(task_context(task))
    assert (request.base_path, request.storage_options) == ("s3://b/lake/flights", {"region": "x"})


def test_options_that_contradict_each_other_fail_without_a_retry(submissions: Submissions) -> None:
    conf = {"hoodie.table.name": "a", "hoodie.datasource.write.table.name": "b"}
    task = make(hoodie_conf=conf)
    with pytest.raises(PyhudiRequestError, match="two values"):
        task.execute(task_context(task))
    assert submissions == []


def test_a_misspelt_option_fails_before_anything_is_submitted(submissions: Submissions) -> None:
    task = make(hoodie_conf={"hoodie.parquet.max.file.sise": 1000})
    with pytest.raises(PyhudiRequestError, match=r"did you mean hoodie\.parquet\.max\.file\.size"):
        task.execute(task_context(task))
    assert submissions == []


def test_none_among_the_options_is_an_option_that_is_not_given() -> None:
    task = make(hoodie_conf={"hoodie.parquet.max.file.size": None, "hoodie.table.name": "t"})
    assert task.request(task_context(task)).hoodie_conf == {"hoodie.table.name": "t"}


def test_few_rows_of_this_machine_are_a_brief_job_and_those_of_a_query_are_not(
    submissions: Submissions,
    landed: Any,
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
) -> None:
    for name in ("JAVA_TOOL_OPTIONS", "JDK_JAVA_OPTIONS", "SPARK_SUBMIT_OPTS"):
        monkeypatch.delenv(name, raising=False)
    source = tmp_path / "rows"
    source.mkdir()
    (source / "part-0.parquet").write_bytes(bytes(10))
    (source / "part-1.parquet").write_bytes(bytes(10))

    def is_brief(**settings: Any) -> bool:
        task = make(**settings)
        task.execute(task_context(task))
        return any("-XX:TieredStopAtLevel=1" in word for word in submissions[-1])

    assert is_brief(source=str(source))
    assert not is_brief(source=str(source), sql="SELECT explode(sequence(1, 1000000)) FROM source")
    assert not is_brief(source="s3a://bucket/rows")
    monkeypatch.setattr("airflow_provider_pyhudi.operators.upsert.SMALL_BYTES", 19)
    assert not is_brief(source=str(source))


def asked_for(submissions: Submissions, task: Any, context: Any) -> UpsertRequest:
    task.execute(context)
    command = submissions[-1]
    return UpsertRequest.from_args(command[command.index(job_script("upsert")) + 1 :])


def test_the_end_of_the_interval_orders_rows_that_have_no_order(
    submissions: Submissions, landed: Any
) -> None:
    task = make(ordering_field="airflow.data_interval_end")
    request = asked_for(submissions, task, task_context(task))
    assert request.ordering_field == "airflow_data_interval_end"
    assert request.ordering_value == "2013-03-01T00:00:00+00:00"


@pytest.mark.parametrize("interval", [None, "absent"])
def test_a_run_without_an_interval_is_ordered_by_when_it_was_to_begin(
    submissions: Submissions, landed: Any, interval: None
) -> None:
    task = make(ordering_field="airflow.data_interval_end")
    context = task_context(task)
    for name in ("logical_date", "data_interval_start", "data_interval_end"):
        if interval:
            del context[name]
        else:
            context[name] = None
    context["dag_run"].run_after = datetime(2026, 5, 1, tzinfo=timezone.utc)
    request = asked_for(submissions, task, context)
    assert request.ordering_value == request.slot_since == "2026-05-01T00:00:00+00:00"


def test_what_was_written_of_the_interval_is_reused_without_spark(
    submissions: Submissions, landed: dict[str, JobResult]
) -> None:
    task = make(on_existing="reuse")
    context = task_context(task, try_number=2, cleared=1)
    landed[slot_key(context)] = replace(COMMITTED, status="already_committed")
    assert task.execute(context)["status"] == "already_committed"
    assert not submissions


def test_what_is_done_about_an_interval_that_was_written_is_one_of_three() -> None:
    task = make(on_existing="ignore")
    with pytest.raises(PyhudiRequestError, match="allowed: append, reuse, replace"):
        task.execute(task_context(task))


@pytest.mark.parametrize(
    ("settings", "name"),
    [
        ({"source": "/landing/2013-02/rows.parquet"}, "flights · 2013-02/rows.parquet"),
        ({"source": None, "partitions_to_delete": ["EWR", "JFK"]}, "flights · EWR,JFK"),
    ],
)
def test_a_mapped_task_is_named_by_its_table_and_what_it_writes(
    settings: dict[str, Any], name: str
) -> None:
    task = make(**settings)
    context = task_context(task)
    task.render_template_fields(context)
    assert "map_index_template" not in context
    context["ti"].map_index = 0
    task.render_template_fields(context)
    assert (context["map_index_template"], context["pyhudi_mapped_name"]) == (
        "{{ pyhudi_mapped_name }}",
        name,
    )
    own = context | {"map_index_template": "{{ mine }}"}
    task.render_template_fields(own)
    assert own["map_index_template"] == "{{ mine }}"
