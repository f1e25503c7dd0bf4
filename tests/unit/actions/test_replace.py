"""The requested file of a replacecommit, with Hudi's own records."""

from __future__ import annotations

import pytest

from pyhudi.actions.replace import RequestedReplace
from pyhudi.schema.codec import read_container
from tests.support.golden import golden_table


def test_it_has_the_record_that_hudi_writes_for_an_overwrite() -> None:
    found = sorted((golden_table("v6_cow_overwrite") / ".hoodie").glob("*.replacecommit.requested"))
    assert len(found) == 2
    for path in found:
        assert read_container(RequestedReplace().to_bytes()) == read_container(path.read_bytes())


def test_a_clustering_has_a_plan() -> None:
    folder = golden_table("v6_cow_pending_clustering") / ".hoodie"
    (path,) = folder.glob("*.replacecommit.requested")
    found = RequestedReplace.from_bytes(path.read_bytes())
    assert found.clustered
    assert RequestedReplace.from_bytes(found.to_bytes()) == found


@pytest.mark.parametrize("body", [b"", RequestedReplace().to_bytes()])
def test_without_a_plan_it_is_no_clustering(body: bytes) -> None:
    assert RequestedReplace.from_bytes(body).clustered is None
