"""Two who change the schema at once."""

import pytest

from pyhudi.transaction.conflicts.schemas import schema_to_commit


def schema(*names: str) -> dict[str, object]:
    return {"type": "record", "name": "r", "fields": [{"name": name} for name in names]}


A, AB, AC = schema("a"), schema("a", "b"), schema("a", "c")


@pytest.mark.parametrize(
    ("own", "before", "now", "expected"),
    [
        pytest.param(AB, None, None, AB, id="the first write"),
        pytest.param(AB, A, A, AB, id="only own changes it"),
        pytest.param(A, A, AB, AB, id="only the other changes it"),
        pytest.param(AB, A, AB, AB, id="both to the same"),
        pytest.param(A, A, A, A, id="nobody changes it"),
        pytest.param(AB, None, AB, AB, id="both are first with the same"),
    ],
)
def test_one_schema_that_both_can_live_with(own, before, now, expected) -> None:
    assert schema_to_commit(own, before, now) == expected


@pytest.mark.parametrize("before", [A, None])
def test_two_different_changes_are_refused(before) -> None:
    assert schema_to_commit(AB, before, AC) is None
