"""Commits by the range of their requests, and by their names."""

import pyarrow as pa
import pytest

from pyhudi.fileslice.span import CommitSpan, NamedSpan, RequestedSpan
from pyhudi.schema.metafields import COMMIT_TIME

SPANS = {
    "after": (RequestedSpan(after="3"), "456789"),
    "range": (RequestedSpan(after="3", until="5"), "45"),
    "earliest": (RequestedSpan(after="000"), "123456789"),
    "named": (NamedSpan(instants=frozenset("28")), "28"),
    "none": (NamedSpan(instants=frozenset()), ""),
}


@pytest.mark.parametrize(("span", "held"), SPANS.values(), ids=SPANS.keys())
def test_rows_meet_the_condition_of_the_commits_that_it_holds(span: CommitSpan, held: str) -> None:
    instants = list("123456789")
    assert "".join(filter(span.holds, instants)) == held
    rows = pa.table({COMMIT_TIME: instants})
    assert "".join(rows.filter(span.condition)[COMMIT_TIME].to_pylist()) == held


@pytest.mark.parametrize(("span", "held"), SPANS.values(), ids=SPANS.keys())
def test_a_file_that_is_older_than_all_of_them_has_none_of_their_rows(span, held: str) -> None:
    for instant in "123456789":
        assert span.may_begin_before(instant) or not any(each <= instant for each in held)
