"""What a job answers, from what its commit wrote and replaced."""

from pyhudi.actions.commit import WriteStat
from pyhudi.table.result import job_result

STATS = (
    WriteStat(file_id="a-0", partition_path="p", num_inserts=3, total_write_bytes=10),
    WriteStat(file_id="b-0", partition_path="q", prev_commit="1", num_update_writes=2),
)


def test_files_are_counted_by_what_became_of_them() -> None:
    replaced = {"p": ("c-0", "d-0"), "r": ("e-0",), "new": ()}
    found = job_result(
        "committed", operation="o", table="t", base_path="/t", stats=STATS, replaced=replaced
    )
    assert found.files == {"created": 1, "rewritten": 1, "appended": 0, "replaced": 3}
    assert found.partitions == ("p", "q", "r")
    assert (found.records["inserted"], found.records["updated"]) == (3, 2)
    assert found.bytes_written == 10


def test_nothing_is_counted_of_a_job_that_did_nothing() -> None:
    found = job_result("nothing_to_do", operation="o", table="t", base_path="/t")
    assert found.files == {"created": 0, "rewritten": 0, "appended": 0, "replaced": 0}
    assert found.partitions == ()
