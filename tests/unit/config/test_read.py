"""Queries from their texts."""

from datetime import datetime, timedelta, timezone

import pytest

from pyhudi.config.options.logs import MergeMemory
from pyhudi.config.options.table import TimelineZone
from pyhudi.config.read import QueryType, ReadConfig
from pyhudi.errors import OptionError

Q = "hoodie.datasource.query."
R = "hoodie.datasource.read."


def test_a_query_from_options() -> None:
    assert ReadConfig.from_options({}) == ReadConfig()
    times = {f"{R}begin.instanttime": "earliest", f"{R}end.instanttime": "2026-01-02"}
    query = ReadConfig.from_options({f"{Q}type": "incremental", **times})
    wanted = {"begin": "000", "end": "20260102000000000"}
    assert query == ReadConfig(query_type=QueryType.INCREMENTAL, **wanted)


def test_change_data_is_a_format_of_the_incremental_query() -> None:
    options = {f"{Q}type": "incremental", f"{Q}incremental.format": "cdc"}
    assert ReadConfig.from_options(options).query_type is QueryType.CDC


def test_a_query_from_arguments_has_its_instants_in_digits() -> None:
    assert ReadConfig.of(as_of="2026-01-02").as_of == "20260102000000000"
    noon = datetime(2026, 1, 2, 12, tzinfo=timezone(timedelta(hours=1)))
    query = ReadConfig.of(
        query_type="incremental", begin=noon.date(), end=noon, zone=TimelineZone.UTC
    )
    assert (query.begin, query.end) == ("20260102000000000", "20260102110000999")


def test_a_time_that_is_none_is_an_error_that_names_the_option_and_shows_the_forms() -> None:
    with pytest.raises(
        OptionError, match=r"option as\.of\.instant is 'now'; allowed: .*2026-01-02T"
    ):
        ReadConfig.of(as_of="now")


@pytest.mark.parametrize(
    "arguments",
    [
        {"query_type": "snap"},
        {"as_of": "now"},
        {"begin": "2026-01-02"},
        {"query_type": "incremental", "as_of": "2026-01-02"},
    ],
)
def test_a_query_that_makes_no_sense_is_an_error(arguments: dict[str, str]) -> None:
    with pytest.raises(OptionError):
        ReadConfig.of(**arguments)


def test_the_memory_of_a_merge_is_hudis_own_unless_options_say_more() -> None:
    assert ReadConfig.of().memory == MergeMemory(limit_bytes=1 << 30, folder=None)
    options = {"hoodie.memory.merge.max.size": "7", "hoodie.memory.spillable.map.path": "/spill"}
    assert ReadConfig.from_options(options).memory == MergeMemory(limit_bytes=7, folder="/spill")
    assert ReadConfig.of(merge_memory=7).memory == MergeMemory(limit_bytes=7)
