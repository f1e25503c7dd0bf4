"""Tables that we bootstrapped before real Hudi, and that Hudi bootstrapped before us.

Hudi's bundles fall short of some datasets, each on its own:

- 0.15.0 makes no index of partitions of which one's path begins with another's (``1`` and ``10``):
  it writes keys in the order of partitions, and HBase wants them in their own.
- 0.15.0 gives escaped values as they stand in the names of the source's folders (``50%25``).
- 1.1.1 reads the value ``x=y`` of a source's folder, and writes ``y`` when it updates its rows.
- 0.15.0 reads no bootstrapped table of ORC files. 1.1.1 does, with Spark's vectorised reader
  switched off, and cannot update their rows while they lie in the source; rows that were written
  to ORC files it updates.
- Both take a source folder such as ``region=[g]`` for a pattern, and find no file.
- 0.15.0 loses rows with decimals when it bootstraps the rows of ORC files (NumberFormatException:
  Zero length BigInteger). Its commit completes, with empty files and the rows as write errors.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from pyhudi.errors import RequestError
from pyhudi.jobs.bootstrap import BootstrapRequest
from pyhudi.keys.partition_path import escape
from pyhudi.pipeline.bootstrap.bootstrap import bootstrap_table
from tests.interop import ours
from tests.interop.bootstrap_cases import DATASETS, MERGE_ON_READ, PARTITION, Dataset, digests
from tests.interop.hudi import HudiError, RealHudi
from tests.interop.rows import assert_same_rows, user_columns, without
from tests.interop.test_hudi_tables import payload
from tests.support.orders import DUE, HERE, compact, write

BY_NAME = {dataset.name: dataset for dataset in DATASETS}
GONE_ON_WITH = ("metadata_only", "mixed_logs", "no_partitions")
READ_AND_UPDATED = ("full_record", "every_type", "odd_values", "escaped_values", "months")
FROM_HUDI = ("mixed_logs", "every_type", "no_partitions", "months", "full_record")
VECTORISED = "spark.sql.orc.enableVectorizedReader"
OLD = "0.15.0"


class Bootstrapped:
    """A table whose rows lie in a dataset, what should be in it, and who looks at it."""

    def __init__(self, dataset: Dataset, hudi: RealHudi, folder: Path) -> None:
        self.dataset, self.hudi = dataset, hudi
        self.source, self.table = folder / "source", folder / "table"
        self.options = {**dataset.scenario.options, **payload(dataset.scenario)}
        self.model = dataset.model()
        first = dataset.rows(range(40), 1)
        dataset.write(self.source, first)
        self.model.upsert(first)
        self.before = digests(self.source)

    def by_us(self) -> None:
        """Bootstrap it here."""
        request = BootstrapRequest(
            base_path=str(self.table),
            source=str(self.source),
            source_format="orc" if self.dataset.is_orc else "parquet",
            hoodie_conf=self.options,
        )
        assert bootstrap_table(HERE, request).status == "committed"

    def by_hudi(self) -> None:
        """Let Hudi bootstrap it."""
        options = {**self.options, **self.dataset.hudis_own}
        self.hudi.bootstrap(self.table, self.source, options)

    def hudi_upserts(self, numbers: range, generation: int) -> None:
        """Rows of a generation, by Hudi."""
        rows = self.dataset.rows(numbers, generation)
        self.hudi.write(self.table, rows, "upsert")
        self.model.upsert(rows)

    def we_upsert(self, numbers: range, generation: int) -> None:
        """Rows of a generation, by us."""
        rows = self.dataset.rows(numbers, generation)
        assert write(self.table, rows, "upsert", self.options).status == "committed"
        self.model.upsert(rows)

    def check(self) -> None:
        """Both read the rows that should be there, with the same meta columns."""
        by_hudi = self.hudi.read(self.table)
        assert_same_rows(user_columns(by_hudi), self.model.rows())
        assert_same_rows(ours.read(self.table), by_hudi)

    def check_end(self) -> None:
        """The table is sound, and the source as it was."""
        assert self.hudi.failures(self.table) == []
        assert digests(self.source) == self.before


@pytest.fixture
def bootstrapped(request: pytest.FixtureRequest, hudi: RealHudi, tmp_path: Path) -> Bootstrapped:
    return Bootstrapped(BY_NAME[request.param], hudi, tmp_path)


@pytest.fixture
def reads_orc(hudi: RealHudi) -> Iterator[None]:
    hudi.ask("set_spark", name=VECTORISED, value="false")
    yield
    hudi.ask("set_spark", name=VECTORISED, value=None)


@pytest.mark.parametrize("bootstrapped", GONE_ON_WITH, indirect=True)
def test_hudi_goes_on_with_what_we_bootstrapped_and_we_with_that(
    bootstrapped: Bootstrapped,
) -> None:
    this = bootstrapped
    this.by_us()
    this.check()
    this.hudi_upserts(range(30, 50), 2)
    this.check()
    this.we_upsert(range(20, 45), 3)
    this.check()
    if MERGE_ON_READ.items() <= this.options.items():
        before = without(this.hudi.read(this.table), ["_hoodie_file_name"])
        assert compact(this.table, DUE).status == "committed"
        assert_same_rows(without(this.hudi.read(this.table), ["_hoodie_file_name"]), before)
    this.hudi_upserts(range(10, 60), 4)
    this.check()
    this.check_end()


@pytest.mark.parametrize("bootstrapped", READ_AND_UPDATED, indirect=True)
def test_hudi_reads_and_updates_what_we_bootstrapped(bootstrapped: Bootstrapped) -> None:
    this = bootstrapped
    this.by_us()
    if (this.hudi.version, this.dataset.name) == (OLD, "escaped_values"):
        escaped = [{**row, PARTITION: escape(row[PARTITION])} for row in this.model.rows()]
        assert_same_rows(user_columns(this.hudi.read(this.table)), escaped)
        assert_same_rows(user_columns(ours.read(this.table)), this.model.rows())
        return
    this.check()
    assert this.hudi.failures(this.table, exercise=False) == []
    this.hudi_upserts(range(35, 45), 2)
    this.check()
    assert digests(this.source) == this.before


@pytest.mark.parametrize("bootstrapped", ["orc", "orc_full_record"], indirect=True)
def test_the_newest_hudi_reads_orc_files_that_we_bootstrapped(
    bootstrapped: Bootstrapped, reads_orc: None
) -> None:
    this = bootstrapped
    this.by_us()
    assert_same_rows(user_columns(ours.read(this.table)), this.model.rows())
    if this.hudi.version == OLD:
        with pytest.raises(HudiError, match="format is not currently supported"):
            this.hudi.read(this.table)
    else:
        this.check()
    this.we_upsert(range(30, 50), 2)
    assert_same_rows(user_columns(ours.read(this.table)), this.model.rows())
    if this.hudi.version != OLD:
        this.check()
        if this.dataset.name == "orc_full_record":
            this.hudi_upserts(range(20, 40), 3)
            this.check()
    assert digests(this.source) == this.before


@pytest.mark.parametrize("bootstrapped", ["orc"], indirect=True)
def test_we_go_on_with_orc_files_that_hudi_bootstrapped(
    bootstrapped: Bootstrapped, reads_orc: None
) -> None:
    this = bootstrapped
    this.by_hudi()
    assert_same_rows(user_columns(ours.read(this.table)), this.model.rows())
    this.we_upsert(range(30, 50), 2)
    assert_same_rows(user_columns(ours.read(this.table)), this.model.rows())
    if this.hudi.version != OLD:
        this.check()
    assert digests(this.source) == this.before


@pytest.mark.parametrize("bootstrapped", FROM_HUDI, indirect=True)
def test_we_go_on_with_what_hudi_bootstrapped(bootstrapped: Bootstrapped) -> None:
    this = bootstrapped
    if (this.hudi.version, this.dataset.name) == (OLD, "months"):
        with pytest.raises(HudiError, match="Added a key not lexically larger than previous"):
            this.by_hudi()
        return
    this.by_hudi()
    this.check()
    this.we_upsert(range(30, 50), 2)
    this.check()
    this.hudi_upserts(range(20, 45), 3)
    this.check()
    this.check_end()


@pytest.mark.parametrize("bootstrapped", ["metadata_only"], indirect=True)
def test_a_bootstrap_of_hudi_is_not_done_again(bootstrapped: Bootstrapped) -> None:
    this = bootstrapped
    this.by_hudi()
    with pytest.raises(RequestError):
        this.by_us()
    this.check()
