"""What an instant's file says, whatever its action."""

import pytest

from pyhudi.actions.plain import PlainBody
from pyhudi.actions.rollback import InstantInfo, RollbackPlan
from pyhudi.errors import CorruptTableError


def test_json_and_avro_are_told_alike_by_their_entries() -> None:
    assert PlainBody.from_bytes(b"").entries == {}
    assert PlainBody.from_bytes(b'{"operationType": "UPSERT"}').entries["operationType"] == "UPSERT"
    plan = RollbackPlan(instant=InstantInfo(time="1", action="commit"), requests=())
    found = PlainBody.from_bytes(plan.to_bytes()).entries
    assert found["instantToRollback"] == {"commitTime": "1", "action": "commit"}


@pytest.mark.parametrize("data", [b"{", b"[]", b"\xff\xfe", b"Obj\x01", b"Obj\x01garbage"])
def test_bytes_that_are_neither_are_refused(data: bytes) -> None:
    with pytest.raises(CorruptTableError):
        PlainBody.from_bytes(data)
