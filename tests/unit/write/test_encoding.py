from pathlib import Path

from pyhudi.basefile.open import open_base_file
from pyhudi.basefile.orc.file import OrcWriteOptions
from pyhudi.basefile.parquet import ParquetWriteOptions
from pyhudi.config.formats import BaseFileFormat
from pyhudi.config.write import WriteConfig
from pyhudi.storage.schemes import open_storage
from pyhudi.write.encoding import file_encoding, full_file_bytes
from pyhudi.write.files.create import create_files
from pyhudi.write.files.merge import merge_file
from tests.support.tasks import file_of, incoming, job_on, task

FILE_ID = "11111111-2222-3333-4444-555555555555-0"


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


def test_an_orc_file_becomes_the_next_one(tmp_path: Path) -> None:
    storage = open_storage(str(tmp_path))
    first = job_on(storage, "20260102030405678", encoding=OrcWriteOptions())
    rows = incoming({f"k{i}": (1, "old") for i in range(100)})
    (made,) = create_files(first, task(), partition="p", file_id=FILE_ID, rows=rows)
    assert made.path == f"p/{FILE_ID}_0-1-0_20260102030405678.orc"
    second = job_on(storage, "20260102030405679", encoding=OrcWriteOptions())
    changed = incoming({"k5": (2, "new"), "k200": (2, "new")})
    stat = merge_file(second, task(1), file_of(made), changed)
    assert (stat.num_update_writes, stat.num_inserts, stat.num_writes) == (1, 1, 101)
    with storage.open_input(stat.path) as source:
        reader = open_base_file(source, name=stat.path)
        values = {
            key: value
            for table in reader.iter_tables(["_hoodie_record_key", "value", "_hoodie_file_name"])
            for key, value, _ in zip(*table.to_pydict().values(), strict=True)
        }
        assert reader.footer.max_key == "k99"
    assert len(values) == 101
    assert {key for key, value in values.items() if value == "new"} == {"k5", "k200"}
