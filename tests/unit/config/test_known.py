"""Options that nobody reads: refused, warned of, or passed over."""

import re

import pytest

from pyhudi.config.hudi_options import find_option
from pyhudi.config.known import check_known, check_read
from pyhudi.config.read import OPTIONS, ReadConfig
from pyhudi.errors import OptionError, UnsupportedError


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("hoodie.schema.on.read.enable", "true"),
        ("hoodie.table.cdc.enabled", "true"),
        ("hoodie.datasource.meta.sync.enable", "true"),
        ("hoodie.allow.operation.metadata.field", "true"),
        ("hoodie.precommit.validators", "org.x.Mine"),
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


@pytest.mark.parametrize("check", [check_known, check_read])
@pytest.mark.parametrize(
    ("key", "meant"),
    [
        ("hoodie.parquet.max.file.sise", "hoodie.parquet.max.file.size"),
        ("hoodie.datasource.query.typ", "hoodie.datasource.query.type"),
        ("hoodie.datasource.read.begin.instant", "hoodie.datasource.read.begin.instanttime"),
        ("hoodie.cleaner.commit.retained", "hoodie.cleaner.commits.retained"),
        ("Hoodie.Table.Name", "hoodie.table.name"),
        ("hudi.parquet.max.file.size", "hoodie.parquet.max.file.size"),
        (" hoodie.table.name", "hoodie.table.name"),
        ("as.of.instnt", "as.of.instant"),
        ("as_of_instant", "as.of.instant"),
        ("asOfInstant", "as.of.instant"),
        ("pyhudi.idempotency.kay", "pyhudi.idempotency.key"),
    ],
)
def test_a_misspelt_option_is_an_error_that_names_the_nearest(check, key: str, meant: str) -> None:
    with pytest.raises(OptionError, match=re.escape(f"no option {key}; did you mean {meant}?")):
        check({key: "x"})


def test_an_option_like_no_other_is_an_error_too() -> None:
    with pytest.raises(OptionError, match=r"no option hoodie\.zzz.* nor one with a name like it"):
        check_known({"hoodie.zzz": "x"})


def test_keys_of_other_people_pass(caplog) -> None:
    options = {"path": "/x", "spark.sql.shuffle.partitions": "2", "mergeSchema": "true"}
    assert check_known(options) == check_read(options) == ()
    assert not caplog.records


def test_what_goes_into_the_commits_metadata_may_be_called_anything() -> None:
    prefix = {"hoodie.datasource.write.commitmeta.key.prefix": "hoodie.run."}
    assert check_known({"hoodie.run.of": "me", **prefix}) == ()


@pytest.mark.parametrize(
    ("key", "meant"),
    [
        ("as_of", "as.of.instant"),
        ("timestampAsOf", "as.of.instant"),
        ("query_type", "hoodie.datasource.query.type"),
        ("begin", "hoodie.datasource.read.begin.instanttime"),
    ],
)
def test_a_read_knows_what_others_call_its_options(key: str, meant: str) -> None:
    with pytest.raises(OptionError, match=f"no option {key}; write {meant}"):
        check_read({key: "2026-01-01"})


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("hoodie.datasource.merge.type", "skip_merge"),
        ("hoodie.datasource.read.incr.path.glob", "/2026/*"),
        ("hoodie.query.as.ro.table", "true"),
        ("hoodie.schema.on.read.enable", "true"),
    ],
)
def test_a_read_refuses_what_would_give_other_rows(key: str, value: str) -> None:
    with pytest.raises(UnsupportedError, match=key):
        check_read({key: value})
    assert check_read({key: ""}) == ()


def test_a_read_says_which_options_it_passes_over(caplog) -> None:
    options = {"hoodie.datasource.query.type": "snapshot", "hoodie.table.cdc.enabled": "false"}
    assert check_read(options) == ()
    assert check_read({**options, "hoodie.table.name": "t"}) == ("hoodie.table.name",)
    (record,) = caplog.records
    assert "no effect on a read: hoodie.table.name" in record.message


def test_a_read_names_as_its_own_just_what_a_query_looks_at() -> None:
    asked = Asked()
    ReadConfig.from_options(asked)
    own = {key for option in OPTIONS for key in (option.key, *option.aliases)}
    assert asked.keys_asked == own


class Asked(dict[str, str]):
    """Options that are all absent, and remember which were asked for."""

    def __init__(self) -> None:
        super().__init__()
        self.keys_asked: set[str] = set()

    def __contains__(self, key: object) -> bool:
        self.keys_asked.add(str(key))
        return False


def test_an_older_name_is_treated_like_the_newer_one() -> None:
    older, newer = (find_option(f"hoodie.{name}.commits.retained") for name in ("cleaner", "clean"))
    assert older is newer
    with pytest.raises(UnsupportedError, match="merger"):
        check_known({"hoodie.datasource.write.record.merger.strategy": "mine"})
