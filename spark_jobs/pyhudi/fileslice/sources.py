"""The files that a table was bootstrapped from: opened, and what their paths tell."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pyarrow as pa

from pyhudi.basefile.condition import RowCondition
from pyhudi.basefile.parquet import BATCH_ROWS
from pyhudi.config.formats import BaseFileFormat
from pyhudi.errors import (
    BootstrapSourceError,
    CorruptTableError,
    MissingFileError,
    SchemaError,
    StorageError,
    UnsupportedError,
)
from pyhudi.filegroup.slices import BaseFile, RowSource
from pyhudi.keys.partition_path import partition_values
from pyhudi.schema.columns import Column
from pyhudi.storage.schemes import open_beside
from pyhudi.storage.storage import Storage

if TYPE_CHECKING:
    from pyhudi.basefile.footer import FooterMetadata
    from pyhudi.basefile.open import BaseFileReader

_WHAT_TO_DO = "Put back the file as it was, or bootstrap the data again"


def place_of_source(storage: Storage, uri: str) -> tuple[Storage, str]:
    """The storage in which the bytes of a source of a table lie, and their path there.

    ``storage`` is the table's.

    Raises:
        OptionError: a scheme that is not known.
        StorageError: the file system cannot be reached.
    """
    folder, _, name = uri.rpartition("/")
    return open_beside(storage, folder or "/"), name


def check_size(source: RowSource, found_bytes: int) -> None:
    """Refuse a source that is not as long as it was.

    Raises:
        BootstrapSourceError: it is longer or shorter.
    """
    if found_bytes != source.size_bytes:
        raise BootstrapSourceError(
            f"{source.uri} has {found_bytes:,} bytes, and had {source.size_bytes:,} when the table "
            f"was bootstrapped from it: it has changed since. {_WHAT_TO_DO}"
        )


@contextmanager
def source_errors(source: RowSource) -> Iterator[None]:
    """Say of a source that is gone, damaged, or cannot be read, what happened to it.

    Raises:
        BootstrapSourceError: it is gone, or no whole file of its format.
        UnsupportedError: it has what Arrow does not read.
        StorageError: any other failure to read it.
    """
    name = source.uri
    try:
        yield
    except MissingFileError as error:
        raise BootstrapSourceError(
            f"{name} is gone, which has rows of the table: it was bootstrapped from this file. "
            f"{_WHAT_TO_DO}"
        ) from error
    except BootstrapSourceError:
        raise
    except CorruptTableError as error:
        raise BootstrapSourceError(
            f"{name}, which has rows of the table, cannot be read: {error}. {_WHAT_TO_DO}"
        ) from error
    except (pa.ArrowInvalid, pa.ArrowKeyError, pa.ArrowIndexError, UnicodeDecodeError) as error:
        kind = BaseFileFormat.of_file(name)
        what = "file" if kind is None else f"{kind.title} file"
        raise BootstrapSourceError(
            f"{name}, which has rows of the table, is not a whole {what}: {error}. {_WHAT_TO_DO}"
        ) from error
    except pa.ArrowNotImplementedError as error:
        raise UnsupportedError(f"{name} cannot be read: {error}") from error
    except OSError as error:
        raise StorageError(f"cannot read {name}: {error}") from error


@dataclass(frozen=True, slots=True, kw_only=True)
class SourceReader:
    """A source that is open, whose errors name it.

    Raises: as ``source_errors``.
    """

    source: RowSource
    reader: BaseFileReader

    @property
    def row_groups(self) -> int:
        """Row groups of the file."""
        return self.reader.row_groups

    @property
    def group_rows(self) -> Sequence[int]:
        """The rows of each row group, in file order."""
        with source_errors(self.source):
            return self.reader.group_rows

    @property
    def row_count(self) -> int:
        """Rows of the file, as its footer says."""
        return self.reader.row_count

    @property
    def schema(self) -> pa.Schema:
        """The columns in the types they are read in, dictionaries aside."""
        with source_errors(self.source):
            return self.reader.schema

    @property
    def footer(self) -> FooterMetadata:
        """Hudi's entries of the footer, of which there are none."""
        return self.reader.footer

    def present(self, names: Sequence[str]) -> list[str]:
        """Those of some columns that the file has, in the order given."""
        with source_errors(self.source):
            return self.reader.present(names)

    def iter_tables(
        self,
        columns: Sequence[str] | None = None,
        row_groups: Sequence[int] | None = None,
        *,
        batch_rows: int = BATCH_ROWS,
        keep_dictionaries: bool = False,
    ) -> Iterator[pa.Table]:
        """The rows in file order, as ``BaseFileReader`` gives them."""
        with source_errors(self.source):
            yield from self.reader.iter_tables(
                columns, row_groups, batch_rows=batch_rows, keep_dictionaries=keep_dictionaries
            )

    def matching_row_groups(self, condition: RowCondition) -> list[int]:
        """The row groups that can hold rows which meet a condition, going by statistics."""
        with source_errors(self.source):
            return self.reader.matching_row_groups(condition)


def completed(rows: pa.Table, schema: pa.Schema, file: BaseFile) -> pa.Table:
    """Rows of a bootstrapped file as a table has them, but for types that Hudi converts as well.

    Partition columns that no file has are what the path says. Times that Parquet knows without a
    zone are those of UTC where the table's have one: Spark's older form of times has none.

    Shapes: the columns of ``rows``, and those of the ``schema`` that the path tells.

    Raises:
        SchemaError: the path does not tell them.
    """
    added = values_of_path(file, schema, {*rows.schema.names})
    for name, value in added.items():
        rows = rows.append_column(name, pa.chunked_array([pa.repeat(value, rows.num_rows)]))
    for position, field in enumerate(rows.schema):
        wanted = schema.get_field_index(field.name)
        if wanted < 0 or field.name in added:
            continue
        column = _in_utc(rows.column(position), schema.field(wanted).type)
        if column is not None:
            rows = rows.set_column(position, field.name, column)
    return rows


def values_of_path(file: BaseFile, schema: pa.Schema, present: set[str]) -> Mapping[str, pa.Scalar]:
    """The partition columns of a schema that are not present, as the partition path tells them.

    Raises:
        SchemaError: it does not.
    Source: HoodieSparkUtils.parsePartitionColumnValues, Hudi 0.15 and 1.1 (a level is hive-style
        where it says so, and escaped characters are taken back, whatever the table's options).
    """
    fields = () if file.source is None else file.source.path_fields
    missing = [f for f in fields if f in schema.names and f not in present]
    if not missing:
        return {}
    types = [schema.field(f).type if f in schema.names else pa.string() for f in fields]
    is_hive_style = file.partition.startswith(f"{fields[0]}=")
    found = partition_values(
        file.partition, fields, types, hive_style=is_hive_style, url_encoded=True
    )
    if found is None:
        raise SchemaError(
            f"the source of {file.path} has no column {', '.join(missing)}, and its partition path "
            f"{file.partition!r} does not tell it"
        )
    return {name: found[name] for name in missing}


def _in_utc(column: Column, wanted: pa.DataType) -> Column | None:
    found = column.type
    if not (pa.types.is_timestamp(found) and pa.types.is_timestamp(wanted)):
        return None
    if found.tz is not None or wanted.tz is None:
        return None
    return column.cast(pa.timestamp(found.unit, wanted.tz))
