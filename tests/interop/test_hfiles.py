"""HFiles of ours before the readers of real Hudi: HBase's, Hudi's own of two releases, hudi-rs."""

import random
from collections.abc import Iterator
from pathlib import Path

import pytest

from pyhudi.actions.bootstrap_index import BootstrapIndex, BootstrappedPartition, SourceFile
from pyhudi.basefile.hfile.reader import open_hfile
from pyhudi.basefile.hfile.writer import Codec, HFileForm, write_hfile
from pyhudi.table.bootstrap_index import bootstrap_index_files
from tests.interop import ours
from tests.interop.hudi import HudiError, RealHudi
from tests.interop.java_hfiles import Found, JavaHFiles
from tests.interop.rows import assert_same_rows, user_columns
from tests.interop.scenarios import SCENARIOS
from tests.interop.test_hudi_tables import payload
from tests.support.golden import golden_table
from tests.support.hfiles import Entry, entries_of, meta_of

WITH_RUST = "1.1.1"
"""The bundle whose metadata tables hudi-rs reads: it passes by those of version 6."""
BY_NAME = {scenario.name: scenario for scenario in SCENARIOS}
READERS = {
    "hbase-0.15.0": ("0.15.0", "HBaseHFiles"),
    "native-0.15.0": ("0.15.0", "NativeHFiles"),
    "native-1.1.1": ("1.1.1", "NativeHFiles"),
}
BLOCK_BYTES = (1, 64, 1000, 65_536)
SHAPES = ((0, 0, 0), (1, 5, 5), (200, 300, 20), (3, 20_000, 70_000), (1000, 3, 0), (500, 8, 300))
"""How many entries, and how long keys and values may be."""
INFO = b"what the file says of itself" * 9
SAID_BY_HUDI = (b"schema", b"minRecordKey", b"maxRecordKey", b"bloomFilterTypeCode")


@pytest.fixture(scope="module", params=READERS)
def reader(request: pytest.FixtureRequest, hudi_home_ready: None, tmp_path_factory) -> JavaHFiles:
    return JavaHFiles(*READERS[request.param], tmp_path_factory.mktemp("classes"))


def drawn(seed: int, count: int, key_bytes: int, value_bytes: int) -> list[Entry]:
    """Entries in the order of their keys, of which each byte may be any."""
    chance = random.Random(seed)
    keys = {chance.randbytes(chance.randint(0, key_bytes)) + b"%04d" % n for n in range(count)}
    return [(key, chance.randbytes(chance.randint(0, value_bytes))) for key in sorted(keys)]


def cases(folder: Path) -> Iterator[tuple[Path, Found]]:
    """HFiles of every form, and what is in each."""
    forms = [HFileForm(block_bytes=size, codec=codec) for size in BLOCK_BYTES for codec in Codec]
    for number, form in enumerate(forms):
        for shape in SHAPES:
            entries = drawn(number, *shape)
            meta = b"bloom" * number * 2_000
            path = folder / f"{number}-{shape[0]}.hfile"
            with path.open("wb") as sink:
                blocks = {b"bloomFilter": meta, b"another": b""}
                write_hfile(sink, entries, info={b"INDEX_INFO": INFO}, meta=blocks, form=form)
            yield path, Found.wanted(entries, INFO, meta)


def test_each_reader_finds_every_entry_and_none_beside(reader: JavaHFiles, tmp_path: Path) -> None:
    wanted = dict(cases(tmp_path))
    assert dict(zip(wanted, reader.read(wanted), strict=True)) == wanted


def test_an_index_of_thousands_of_blocks_has_one_level_that_each_reader_seeks_in(
    reader: JavaHFiles, tmp_path: Path
) -> None:
    entries = [(b"%07d" % number + b"k" * 150, b"") for number in range(0, 40_000, 2)]
    path = tmp_path / "large.hfile"
    with path.open("wb") as sink:
        write_hfile(sink, entries, info={}, form=HFileForm(block_bytes=1_000))
    assert len(entries_of(path.read_bytes())) > 3_000
    assert reader.read([path]) == [Found.wanted(entries, b"", b"")]


def test_the_index_of_a_bootstrap_is_found_whatever_its_partitions_are_called(
    reader: JavaHFiles, tmp_path: Path
) -> None:
    odd = ("", "1", "10", "2", "a b/c%2Fd", "日本", "x;fileid=y", "e=f;g", "p=" + "long" * 60)
    file = SourceFile(path="file:/s/a.parquet", size_bytes=1, modified_ms=2, accessed_ms=3)
    partitions = {
        path: BootstrappedPartition(
            partition_path=path, source_partition=path, files={f"id-{n}": file for n in range(40)}
        )
        for path in odd
    }
    index = BootstrapIndex(source_base_path="file:/s", created_ms=4, partitions=partitions)
    wanted = {}
    for number, content in enumerate(bootstrap_index_files(index).values()):
        path = tmp_path / f"{number}.hfile"
        path.write_bytes(content)
        entries = [entry for block in entries_of(content) for entry in block]
        wanted[path] = Found.wanted(entries, open_hfile(content).info[b"INDEX_INFO"], b"")
    assert dict(zip(wanted, reader.read(wanted), strict=True)) == wanted


def test_what_hudi_wrote_is_read_alike_by_us_and_each_reader(reader: JavaHFiles) -> None:
    wanted = {}
    for table in ("v6_cow_bootstrap", "v6_mor_bootstrap"):
        for path in (golden_table(table) / ".hoodie").rglob("*.hfile"):
            content = path.read_bytes()
            entries = [entry for block in entries_of(content) for entry in block]
            info = open_hfile(content).info.get(b"INDEX_INFO", b"")
            wanted[path] = Found.wanted(entries, info, meta_of(content).get(b"bloomFilter", b""))
    assert len(wanted) == 5
    assert dict(zip(wanted, reader.read(wanted), strict=True)) == wanted


def write_again(metadata_table: Path) -> None:
    """Put HFiles of ours in the place of all that Hudi wrote, with the same entries."""
    found = list(metadata_table.rglob("*.hfile"))
    assert found
    for path in found:
        content = path.read_bytes()
        said = open_hfile(content).info
        with path.open("wb") as sink:
            write_hfile(
                sink,
                [entry for block in entries_of(content) for entry in block],
                info={name: said[name] for name in SAID_BY_HUDI if name in said},
                meta=meta_of(content),
                form=HFileForm(block_bytes=200, codec=Codec.GZ),
            )
        path.with_name(f".{path.name}.crc").unlink(missing_ok=True)


def test_hudi_trusts_a_metadata_table_whose_hfiles_are_ours(hudi: RealHudi, tmp_path) -> None:
    """And cannot do without them: it is they that are read."""
    scenario, table = BY_NAME["bulk_unsorted"], tmp_path / "table"
    # Every write compacts the metadata table first, so most entries are in HFiles and not in logs.
    options = {
        **scenario.options,
        **payload(scenario),
        "hoodie.metadata.enable": "true",
        "hoodie.metadata.compact.max.delta.commits": "1",
        # The newest that 1.1.1 knows; 0.15.0 has no such option.
        "hoodie.write.table.version": "9",
    }
    model = scenario.model()

    def write(numbers: range, generation: int, mode: str = "append") -> None:
        rows = scenario.batch(numbers, generation)
        hudi.write(table, rows, "upsert", options=options, mode=mode)
        model.upsert(rows)

    write(range(40), 1, "overwrite")
    write(range(20, 60), 2)
    write_again(table / ".hoodie" / "metadata")
    assert_same_rows(user_columns(hudi.read(table, metadata=True)), model.rows())
    write(range(50, 70), 3)
    write_again(table / ".hoodie" / "metadata")
    assert_same_rows(user_columns(hudi.read(table, metadata=True)), model.rows())
    if hudi.version == WITH_RUST:
        assert_same_rows(user_columns(ours.read_with_hudi_rs(table)), model.rows())
    for path in (table / ".hoodie" / "metadata").rglob("*.hfile"):
        path.write_bytes(path.read_bytes()[:-1])
    with pytest.raises(HudiError, match="HFile"):
        hudi.read(table, metadata=True)
    if hudi.version == WITH_RUST:
        with pytest.raises(Exception, match="HFile"):
            ours.read_with_hudi_rs(table)
