"""How large records are taken to be, and how much room files have."""

from pyhudi.write.plan.sizing import CommitTotals, average_record_size, room_rows

MEBI = 1 << 20


def average(*newest_first: tuple[int, int]) -> int:
    totals = [CommitTotals(records=records, size_bytes=size) for records, size in newest_first]
    return average_record_size(totals, estimate_bytes=1024, threshold_bytes=100 * MEBI)


def test_the_estimate_stands_before_there_are_commits():
    assert average() == 1024


def test_the_newest_commit_above_the_threshold_tells():
    assert average((1_000_000, 10 * MEBI), (1_000_000, 200_000_000), (10, 500_000_000)) == 200


def test_a_smaller_commit_of_many_records_tells_when_none_is_larger():
    assert average((50, 40_000_000), (100_000, 5_000_001)) == 51


def test_a_commit_of_a_few_records_tells_nothing():
    assert average((50, 400_000), (0, 400_000), (10, 0)) == 1024


def test_room_is_what_the_largest_size_leaves():
    assert room_rows(20 * MEBI, max_file_size_bytes=120 * MEBI, record_size_bytes=1024) == 102_400
    assert room_rows(130 * MEBI, max_file_size_bytes=120 * MEBI, record_size_bytes=1024) == 0
