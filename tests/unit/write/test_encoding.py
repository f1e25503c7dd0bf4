from pyhudi.basefile.orc.file import OrcWriteOptions
from pyhudi.basefile.parquet import ParquetWriteOptions
from pyhudi.config.formats import BaseFileFormat
from pyhudi.config.write import WriteConfig
from pyhudi.write.encoding import file_encoding, full_file_bytes


def test_options_of_the_format_decide() -> None:
    config = WriteConfig.from_options(
        {
            "hoodie.orc.stripe.size": "1000000",
            "hoodie.orc.compression.codec": "ZSTD",
            "hoodie.orc.max.file.size": "77",
            "hoodie.parquet.max.file.size": "88",
            "hoodie.parquet.compression.codec": "snappy",
        }
    )
    encoding = file_encoding(config, BaseFileFormat.ORC)
    assert encoding == OrcWriteOptions(codec="zstd", row_group_bytes=1_000_000)
    assert full_file_bytes(config, BaseFileFormat.ORC) == 77
    parquet = file_encoding(config, BaseFileFormat.PARQUET)
    assert isinstance(parquet, ParquetWriteOptions)
    assert parquet.codec == "snappy"
    assert full_file_bytes(config, BaseFileFormat.PARQUET) == 88


def test_a_task_never_holds_more_than_it_may() -> None:
    config = WriteConfig.from_options({"hoodie.orc.stripe.size": str(1 << 40)})
    assert file_encoding(config, BaseFileFormat.ORC) == OrcWriteOptions()
