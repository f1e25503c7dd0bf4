"""Base files of any format behind one interface: which format it is, a file's name says."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

import pyarrow as pa

from pyhudi.basefile.condition import RowCondition
from pyhudi.basefile.footer import FooterMetadata
from pyhudi.basefile.orc.file import OrcReader
from pyhudi.basefile.parquet import ParquetReader
from pyhudi.config.formats import BaseFileFormat
from pyhudi.errors import UnsupportedError


class BaseFileReader(Protocol):
    """One base file, opened for reading.

    A row group is what the format cuts a file's rows into: ORC calls it a stripe.
    """

    @property
    def row_groups(self) -> int:
        """Row groups of the file."""

    @property
    def group_rows(self) -> Sequence[int]:
        """The rows of each row group, in file order."""

    @property
    def row_count(self) -> int:
        """Rows of the file, as its footer says."""

    @property
    def schema(self) -> pa.Schema:
        """The columns in the types they are read in, dictionaries aside."""

    @property
    def footer(self) -> FooterMetadata:
        """Hudi's entries of the footer."""

    def present(self, names: Sequence[str]) -> list[str]:
        """Those of some columns that the file has, in the order given."""

    def iter_tables(
        self,
        columns: Sequence[str] | None = None,
        row_groups: Sequence[int] | None = None,
        *,
        batch_rows: int = ...,
        keep_dictionaries: bool = False,
    ) -> Iterator[pa.Table]:
        """Read the rows in file order, some at a time.

        With ``keep_dictionaries`` string columns may come dictionary-encoded, if that spares work.

        Shapes: the columns asked for that the file has, in the order asked, or all in file order;
            at most ``batch_rows`` rows, in one chunk.
        """

    def matching_row_groups(self, condition: RowCondition) -> list[int]:
        """The row groups that can hold rows which meet a condition, going by statistics."""


def open_base_file(source: pa.NativeFile, *, name: str, threads: bool = False) -> BaseFileReader:
    """Read a base file; ``name`` tells its format and is what errors call it.

    With ``threads`` its columns may be read beside each other.

    Raises:
        CorruptTableError: it is no file of the format its name says.
        UnsupportedError: a format that is not read here.
    """
    match BaseFileFormat.of_file(name):
        case BaseFileFormat.PARQUET:
            return ParquetReader(source, name=name, threads=threads)
        case BaseFileFormat.ORC:
            return OrcReader(source, name=name)
    raise UnsupportedError(f"{name} is neither a Parquet nor an ORC file")
