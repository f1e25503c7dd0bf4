"""What is asked of Spark for its pages and the log alone."""

import pytest
from py4j.protocol import Py4JError
from pyspark import SparkContext

from pyhudi.spark.tasks.spill import job_group, spilled_bytes


class Gone:
    """A context whose JVM was killed."""

    def __getattr__(self, name: str) -> object:
        raise Py4JError(f"An error occurred while calling o1.{name}")


def test_a_stage_that_was_done_when_the_jvm_died_has_not_failed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A write may be committed then, and whoever is told that it failed repeats it."""
    monkeypatch.setattr(SparkContext, "_active_spark_context", Gone())
    done = False
    with job_group("commit") as group:
        done = True
    assert done
    assert spilled_bytes(group) == 0
