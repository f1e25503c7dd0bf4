"""Queries from their texts, and instants as people write them."""

import pytest

from pyhudi.config.instant_text import normalise_instant
from pyhudi.config.options.logs import MergeMemory
from pyhudi.config.read import QueryType, ReadConfig
from pyhudi.errors import OptionError

Q = "hoodie.datasource.query."
R = "hoodie.datasource.read."


@pytest.mark.parametrize(
    ("text", "digits"),
    [
        ("20260102030405678", "20260102030405678"),
        ("20260102030405", "20260102030405"),
        ("00000000000001", "00000000000001"),
        ("2026-01-02", "20260102000000000"),
        ("2026-01-02 03:04:05", "20260102030405999"),
        (" 2026-01-02 03:04:05.678 ", "20260102030405678"),
    ],
)
def test_an_instant_is_understood_as_hudi_understands_it(text: str, digits: str) -> None:
    assert normalise_instant(text) == digits


@pytest.mark.parametrize(
    "text", ["", "yesterday", "2026-13-01", "2026010203", "2026-01-02T03:04:05", "2026-01-02 03:04"]
)
def test_a_text_that_is_no_instant_is_an_error_with_examples(text: str) -> None:
    with pytest.raises(OptionError, match="write it as 20260102030405678, 2026-01-02 or"):
        normalise_instant(text)


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
