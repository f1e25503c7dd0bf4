from __future__ import annotations

import pytest

from pyhudi.config.formats import BASE_FILE_FORMAT, BaseFileFormat, OrcCodec, OrcConfig
from pyhudi.config.option import read_settings
from pyhudi.errors import OptionError, UnsupportedError

KEY = "hoodie.table.base.file.format"


@pytest.mark.parametrize("key", [KEY, "hoodie.base.file.format"])
def test_a_format_may_be_named_in_any_case(key: str) -> None:
    assert BASE_FILE_FORMAT.read({key: "orc"}) is BaseFileFormat.ORC
    assert BASE_FILE_FORMAT.read({}) is None


def test_other_formats_are_refused() -> None:
    with pytest.raises(UnsupportedError, match="'hfile', which is not supported"):
        BASE_FILE_FORMAT.read({KEY: "hfile"})
    with pytest.raises(OptionError, match="PARQUET, ORC"):
        BASE_FILE_FORMAT.read({KEY: "csv"})


def test_a_file_name_tells_its_format() -> None:
    assert BaseFileFormat.of_file("p/a_1-0-1_20260102030405678.orc") is BaseFileFormat.ORC
    assert BaseFileFormat.of_file("p/a.parquet") is BaseFileFormat.PARQUET
    assert BaseFileFormat.of_file("p/orc") is None


def test_options_of_orc_files() -> None:
    options = {
        "hoodie.orc.stripe.size": "1000",
        "hoodie.orc.max.file.size": "2000",
        "hoodie.orc.compression.codec": "SNAPPY",
    }
    wanted = OrcConfig(max_file_size=2000, stripe_size=1000, codec=OrcCodec.SNAPPY)
    assert read_settings(OrcConfig, options) == wanted
    assert read_settings(OrcConfig, {}).codec is OrcCodec.ZLIB
    with pytest.raises(OptionError, match="zlib, zstd, snappy"):
        read_settings(OrcConfig, {"hoodie.orc.compression.codec": "LZO"})
