"""The requested file of a replacecommit, with Hudi's own records."""

from __future__ import annotations

from pyhudi.actions.clustering import planned_file_groups
from pyhudi.actions.replace import requested_replace
from pyhudi.schema.codec import read_container
from tests.support.golden import golden_table


def test_it_has_the_record_that_hudi_writes_for_an_overwrite() -> None:
    found = sorted((golden_table("v6_cow_overwrite") / ".hoodie").glob("*.replacecommit.requested"))
    assert len(found) == 2
    for path in found:
        assert read_container(requested_replace()) == read_container(path.read_bytes())


def test_it_is_no_clustering() -> None:
    assert planned_file_groups(requested_replace()) is None
