"""Options that nobody reads: refused, warned of, or passed over."""

from __future__ import annotations

import pytest

from pyhudi.config.known import check_known
from pyhudi.errors import OptionError, UnsupportedError


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("hoodie.populate.meta.fields", "false"),
        ("hoodie.table.cdc.enabled", "true"),
        ("hoodie.datasource.write.drop.partition.columns", "true"),
        ("hoodie.allow.operation.metadata.field", "true"),
        ("hoodie.payload.delete.field", "op"),
        ("hoodie.write.concurrency.mode", "optimistic_concurrency_control"),
        ("hoodie.datasource.insert.dup.policy", "drop"),
        ("hoodie.datasource.write.record.merger.impls", "org.x.Mine"),
    ],
)
def test_an_option_that_would_change_the_data_is_refused(key: str, value: str) -> None:
    with pytest.raises(UnsupportedError, match=key):
        check_known({key: value})


def test_the_same_options_at_what_is_done_anyway_are_fine(caplog) -> None:
    options = {
        "hoodie.populate.meta.fields": "True",
        "hoodie.table.cdc.enabled": "false",
        "hoodie.metadata.enable": "false",
        "hoodie.datasource.write.recordkey.field": "id",
        "hoodie.table.precombine.field": "ts",
        "path": "/x",
        "_run": "7",
    }
    assert check_known(options) == ()
    assert not caplog.records


def test_ignored_options_are_named_in_one_warning(caplog) -> None:
    options = {"hoodie.upsert.shuffle.parallelism": "2", "hoodie.memory.merge.fraction": "0.6"}
    assert check_known(options) == tuple(sorted(options))
    (record,) = caplog.records
    assert all(key in record.message for key in options)


def test_a_key_of_our_own_that_is_none_is_an_error_with_those_there_are() -> None:
    with pytest.raises(OptionError, match=r"no option pyhudi\.idempotence.*pyhudi\.idempotency"):
        check_known({"pyhudi.idempotence": "x"})
