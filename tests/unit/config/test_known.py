"""Options that nobody reads: refused, warned of, or passed over."""

import pytest

from pyhudi.config.hudi_options import find_option
from pyhudi.config.known import check_known
from pyhudi.errors import OptionError, UnsupportedError


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("hoodie.schema.on.read.enable", "true"),
        ("hoodie.table.cdc.enabled", "true"),
        ("hoodie.datasource.meta.sync.enable", "true"),
        ("hoodie.allow.operation.metadata.field", "true"),
        ("hoodie.precommit.validators", "org.x.Mine"),
        ("hoodie.write.concurrency.mode", "optimistic_concurrency_control"),
        ("hoodie.datasource.write.record.merger.impls", "org.x.Mine"),
    ],
)
def test_an_option_that_would_change_the_data_is_refused(key: str, value: str) -> None:
    with pytest.raises(UnsupportedError, match=key):
        check_known({key: value})


def test_the_same_options_at_what_is_done_anyway_are_fine(caplog) -> None:
    options = {
        "hoodie.schema.on.read.enable": "False",
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


def test_options_that_begin_like_a_family_of_hudis_are_ignored(caplog) -> None:
    assert check_known({"hoodie.streamer.source.dfs.root": "/x"}) != ()
    assert find_option("hoodie.streamer.source.dfs.root").chapter == "Jobs of Hudi's own"
    assert find_option("hoodie.no.such.option") is None


def test_an_older_name_is_treated_like_the_newer_one() -> None:
    older, newer = (find_option(f"hoodie.{name}.commits.retained") for name in ("cleaner", "clean"))
    assert older is newer
    with pytest.raises(UnsupportedError, match="merger"):
        check_known({"hoodie.datasource.write.record.merger.strategy": "mine"})
