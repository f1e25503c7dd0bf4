"""Rows that wait for their row group."""

import pyarrow as pa

from pyhudi.basefile.waiting import WaitingRows


def rows(count: int) -> pa.Table:
    return pa.table({"n": pa.array(range(count), pa.int64())})


def test_a_row_group_is_full_at_its_rows():
    waiting = WaitingRows(most_rows=10, most_bytes=1 << 20)
    part, rest = waiting.split(rows(7))
    waiting.add(part)
    assert (part.num_rows, rest.num_rows, waiting.is_full) == (7, 0, False)
    part, rest = waiting.split(rows(7))
    waiting.add(part)
    assert (part.num_rows, rest.num_rows, waiting.is_full) == (3, 4, True)


def test_a_row_group_is_full_at_its_bytes():
    waiting = WaitingRows(most_rows=1000, most_bytes=160)
    waiting.add(rows(19))
    assert (waiting.size_bytes, waiting.is_full) == (152, False)
    waiting.add(rows(1))
    assert waiting.is_full


def test_what_is_taken_waits_no_longer():
    waiting = WaitingRows(most_rows=10, most_bytes=1 << 20)
    waiting.add(rows(6))
    waiting.add(rows(4))
    assert [table.num_rows for table in waiting.take()] == [6, 4]
    assert (waiting.take(), waiting.size_bytes, waiting.is_full) == ([], 0, False)
    assert waiting.split(rows(10))[1].num_rows == 0


def test_waiting_rows_are_expected_to_shrink_as_earlier_ones_did():
    waiting = WaitingRows(most_rows=10, most_bytes=1 << 20)
    waiting.add(rows(10))
    waiting.take()
    waiting.add(rows(5))
    assert waiting.file_bytes(8) == 8 + 40 // 10
