"""What stages of a job report."""

import logging

import pytest

from pyhudi.pipeline.stopwatch import Stopwatch
from pyhudi.runner.in_process import InProcessRunner


def test_a_stage_reports_its_seconds_rows_and_bytes() -> None:
    """And the total covers all the stages."""
    watch = Stopwatch("flights", InProcessRunner())
    with watch.stage("write") as stage:
        stage.moved(10, 2048)
        stage.moved(5, 1)
        stage.details["merge_task_seconds"] = 0.5
    found = watch.stages()["write"]
    assert (found["rows"], found["bytes"], found["spilled_bytes"]) == (15, 2049, 0)
    assert found["merge_task_seconds"] == 0.5
    seconds = watch.seconds()
    assert 0 <= seconds["write"] <= seconds["total"]


def test_a_stage_that_fails_or_still_runs_is_no_result() -> None:
    """Its numbers would be those of a part."""
    watch = Stopwatch("flights", InProcessRunner())
    with pytest.raises(ValueError, match="no"), watch.stage("lookup"):
        raise ValueError("no")
    with watch.stage("write"):
        assert watch.stages() == {}


def test_each_stage_writes_one_line_to_the_log(caplog: pytest.LogCaptureFixture) -> None:
    """Seconds, rows and size in words."""
    watch = Stopwatch("flights", InProcessRunner())
    with caplog.at_level(logging.INFO), watch.stage("key") as stage:
        stage.moved(1234, 3 << 20)
    assert len(caplog.messages) == 1
    assert caplog.messages[0].startswith("flights: key took 0.")
    assert caplog.messages[0].endswith(" s, 1,234 rows, 3.0 MiB")
