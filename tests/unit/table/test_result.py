"""What a job answers, from what its commit wrote and replaced."""

from pyhudi.table.result import job_result


def test_nothing_is_counted_of_a_job_that_did_nothing() -> None:
    found = job_result("nothing_to_do", operation="o", table="t", base_path="/t")
    assert found.files == {"created": 0, "rewritten": 0, "appended": 0, "replaced": 0}
    assert found.partitions == ()
