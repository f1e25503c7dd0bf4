"""Advice in the words of a DAG."""

import pytest

from airflow_provider_pyhudi.exceptions import engine_error
from airflow_provider_pyhudi.wording import in_arguments
from pyhudi.errors import SourceError
from pyhudi.flags import flags_of
from pyhudi.jobs.clean import CleanRequest
from pyhudi.jobs.compaction import CompactionRequest
from pyhudi.jobs.upsert import UpsertRequest
from pyhudi.spark.failures import explain


@pytest.mark.parametrize(
    ("message", "expected"),
    [
        ("check --source", "check source="),
        (
            "leave --strategy and --max-delta-commits out",
            "leave strategy= and max_delta_commits= out",
        ),
        ("--storage-option takes key=value", "storage_options= takes key=value"),
        ("(--verbose shows the stack trace)", "(verbose=True shows the stack trace)"),
        ("raise --driver-memory of spark-submit", "raise driver_memory="),
        ("pip install --force-reinstall --no-deps x", "pip install --force-reinstall --no-deps x"),
    ],
)
def test_flags_become_arguments(message: str, expected: str) -> None:
    assert in_arguments(message) == expected


@pytest.mark.parametrize("request_type", [UpsertRequest, CompactionRequest, CleanRequest])
def test_no_flag_of_a_job_is_advised_to_a_dag(request_type: type) -> None:
    names = {flag.name for name, flag in flags_of(request_type).items() if name != "result_path"}
    assert [name for name in sorted(names) if name in in_arguments(name)] == []


def test_every_error_of_the_engine_is_reworded() -> None:
    assert str(engine_error(SourceError("it is cut short; check --source"))).endswith("source=")


def test_more_memory_is_asked_of_who_can_give_it() -> None:
    said = str(explain(RuntimeError("java.lang.OutOfMemoryError: Java heap space")))
    assert "--driver-memory of spark-submit" in said
    assert "driver_memory=" in in_arguments(said)
    assert "--" not in in_arguments(said)
