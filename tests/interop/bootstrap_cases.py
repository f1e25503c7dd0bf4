"""Datasets to bootstrap, files that know nothing of Hudi, and options to take them with."""

import hashlib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from pyarrow import orc

from pyhudi.keys.partition_path import escape
from tests.interop.model import TableModel
from tests.interop.scenarios import ENCODED, HIVE, ORDERS, TYPES, Scenario, every_type, single

MERGE_ON_READ = {"hoodie.datasource.write.table.type": "MERGE_ON_READ"}
PARTITION, FILES, ROWS_IN_A_GROUP = "region", 2, 3
_KEYGENS = "org.apache.hudi.keygen."
_SELECTORS = "org.apache.hudi.client.bootstrap.selector."
_PROVIDERS = "org.apache.hudi.bootstrap."
SELECTOR = "hoodie.bootstrap.mode.selector"
FULL = {SELECTOR: f"{_SELECTORS}FullRecordBootstrapModeSelector"}
MIXED = {
    SELECTOR: f"{_SELECTORS}BootstrapRegexModeSelector",
    f"{SELECTOR}.regex": ".*asia",
    f"{SELECTOR}.regex.mode": "METADATA_ONLY",
}
ORC = {"hoodie.table.base.file.format": "ORC"}


@dataclass(frozen=True)
class Dataset:
    """A dataset of some rows: hive-style folders whose names alone have the partition's value.

    ``labels`` are the values in turn. Without partitions the files lie in one folder. Files of
    ORC have the partition's column too: Hudi does not find it otherwise.
    """

    name: str
    labels: tuple[str, ...] = ("africa", "asia", "europe")
    more: Mapping[str, str] = field(default_factory=dict)
    schema: pa.Schema = ORDERS
    is_partitioned: bool = True

    @property
    def scenario(self) -> Scenario:
        """Keys, columns and options of the table."""
        make = every_type if self.schema is TYPES else single
        partitions = (PARTITION,) if self.is_partitioned else ()
        more = {**HIVE, **self.more} if self.is_partitioned else dict(self.more)
        generator = "Simple" if self.is_partitioned else "Nonpartitioned"
        more["hoodie.datasource.write.keygenerator.class"] = f"{_KEYGENS}{generator}KeyGenerator"
        return Scenario(self.name, partitions=partitions, schema=self.schema, make=make, more=more)

    @property
    def hudis_own(self) -> dict[str, str]:
        """What Hudi has to be told and we are not."""
        kind = "Orc" if self.is_orc else "Parquet"
        generator = self.scenario.options["hoodie.datasource.write.keygenerator.class"]
        return {
            "hoodie.bootstrap.keygen.class": generator,
            "hoodie.bootstrap.full.input.provider": f"{_PROVIDERS}Spark{kind}BootstrapDataProvider",
            "hoodie.metadata.enable": "false",
        }

    @property
    def is_orc(self) -> bool:
        """Whether its files are ORC."""
        return ORC.items() <= self.more.items()

    def rows(self, numbers: Iterable[int], generation: int) -> pa.Table:
        """Rows of a generation, in the partitions of this dataset."""
        numbers = list(numbers)
        found = self.scenario.batch(numbers, generation)
        labels = pa.array([self.labels[number % len(self.labels)] for number in numbers])
        return found.set_column(found.schema.get_field_index(PARTITION), PARTITION, labels)

    def write(self, folder: Path, rows: pa.Table) -> None:
        """Lay the rows down: two files in each folder, of several row groups, and a mark."""
        if not self.is_partitioned:
            self._write_files(folder, rows)
        else:
            for label in self.labels:
                part = rows.filter(pc.equal(rows.column(PARTITION), label))
                own = folder / f"{PARTITION}={self._folder_of(label)}"
                self._write_files(own, part if self.is_orc else part.drop_columns([PARTITION]))
        (folder / "_SUCCESS").touch()

    def _folder_of(self, label: str) -> str:
        return escape(label) if ENCODED.items() <= self.more.items() else label

    def _write_files(self, folder: Path, rows: pa.Table) -> None:
        folder.mkdir(parents=True)
        bounds = [rows.num_rows * number // FILES for number in range(FILES + 1)]
        for number, (start, end) in enumerate(pairwise(bounds)):
            part, path = rows.slice(start, end - start), folder / f"part-{number}"
            if self.is_orc:
                orc.write_table(part, f"{path}.orc")
            else:
                pq.write_table(part, f"{path}.parquet", row_group_size=ROWS_IN_A_GROUP)

    def model(self) -> TableModel:
        """An empty model of the table."""
        return self.scenario.model()


def digests(folder: Path) -> dict[str, str]:
    """What is in each file below a folder, and when it was written."""
    return {
        str(path.relative_to(folder)): f"{hashlib.sha256(path.read_bytes()).hexdigest()} "
        f"{path.stat().st_mtime_ns}"
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


TWELVE = tuple(str(number) for number in range(1, 13))
DATASETS = (
    Dataset("metadata_only"),
    Dataset("full_record", more=FULL),
    Dataset("mixed_logs", more={**MIXED, **MERGE_ON_READ}),
    Dataset("no_partitions", is_partitioned=False),
    Dataset("every_type", schema=TYPES),
    Dataset("odd_values", labels=("a b", "q&a", "[g]", "日本", "späße", "c,d+e")),
    Dataset("escaped_values", labels=("a b", "50%", "c/d", "e:f"), more=ENCODED),
    Dataset("months", labels=TWELVE),
    Dataset("orc", more=ORC),
    Dataset("orc_full_record", more={**ORC, **FULL}),
)
