"""What a filter makes unnecessary: columns, partitions, files and row groups."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from pyhudi.errors import RequestError
from pyhudi.keys.generators import paths_hold_values
from pyhudi.keys.partition_path import partition_values
from pyhudi.schema.metafields import COMMIT_TIME, PARTITION_PATH

if TYPE_CHECKING:
    from pyhudi.config.table import TableConfig
    from pyhudi.filegroup.slices import BaseFile

_PARQUET = ds.ParquetFileFormat()


def filter_columns(filters: pc.Expression, schema: pa.Schema) -> tuple[str, ...]:
    """The columns a filter looks at, in schema order.

    Raises:
        RequestError: the filter names a column the table has not, or compares what cannot be
            compared.
    """
    problem = _binding_error(filters, schema) or _type_error(filters, schema)
    if problem is not None:
        raise RequestError(
            f"the filter {filters} cannot be applied to the table: {problem}; the table has the "
            f"columns {', '.join(schema.names)}"
        )
    # An expression does not say which columns it needs, but fails to bind when one is missing.
    return tuple(
        name
        for position, name in enumerate(schema.names)
        if _binding_error(filters, schema.remove(position)) is not None
    )


def _binding_error(filters: pc.Expression, schema: pa.Schema) -> str | None:
    try:
        ds.Scanner.from_batches(iter(()), schema=schema, filter=filters)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowKeyError, TypeError) as error:
        return str(error).splitlines()[0]
    return None


def _type_error(filters: pc.Expression, schema: pa.Schema) -> str | None:
    try:
        schema.empty_table().filter(filters)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, TypeError) as error:
        return str(error).splitlines()[0]
    return None


def partition_filter(
    filters: pc.Expression | None, schema: pa.Schema, config: TableConfig
) -> Callable[[str], bool]:
    """Whether the partition of a path can hold rows that a filter lets through.

    Decided by ``_hoodie_partition_path`` and, where the key generator puts column values into the
    path as they are, by the values of the partition columns.

    Guarantees: never False for a partition with such a row, as long as each row's partition
        columns are those its path was made from, on which Hudi relies too.
    Source: HoodieFileIndex, Hudi 0.15 and 1.1.
    """
    if filters is None:
        return _always
    return lambda path: can_match(filters, schema, _partition_guarantee(path, schema, config))


def _always(_path: str) -> bool:
    return True


def _partition_guarantee(path: str, schema: pa.Schema, config: TableConfig) -> pc.Expression:
    known = pc.scalar(True)  # noqa: FBT003
    if config.populate_meta_fields:
        known = known & (pc.field(PARTITION_PATH) == path)
    for name, value in path_values(path, schema, config).items():
        # The default partition holds nulls and, in a string column, empty texts.
        if value.is_valid:
            known = known & (pc.field(name) == value)
    return known


def path_values(path: str, schema: pa.Schema, config: TableConfig) -> dict[str, pa.Scalar]:
    """The partition columns' values that a partition path states; {} where it states none.

    Columns that no file holds are what their path says, whatever it was made from.

    Source: HoodieBaseRelation, SparkHoodieTableFileIndex, Hudi 0.15 and 1.1.
    """
    fields = config.partition_fields
    positions = [schema.get_field_index(field) for field in fields]
    tells = config.drop_partition_columns or paths_hold_values(config.key_generator_class)
    if -1 in positions or not tells or _may_be_spelt_otherwise(path, config):
        return {}
    types = [schema.field(position).type for position in positions]
    values = partition_values(
        path, fields, types, hive_style=config.hive_style, url_encoded=config.url_encode
    )
    return values or {}


def _may_be_spelt_otherwise(path: str, config: TableConfig) -> bool:
    """Whether a partition may have its path from a source, which need not follow the options."""
    if config.bootstrap_base_path is None or config.drop_partition_columns:
        return False
    return ("=" in path and not config.hive_style) or ("%" in path and not config.url_encode)


def matching_files(
    files: Iterable[BaseFile], filters: pc.Expression | None, schema: pa.Schema, config: TableConfig
) -> tuple[BaseFile, ...]:
    """The files that can hold rows a filter lets through, going by their commit times.

    Not: partitions are ``partition_filter``'s; a file's own statistics are ``RowCondition``'s.
    """
    if filters is None or not config.populate_meta_fields:
        return tuple(files)
    # No row of a file is younger than the file.
    return tuple(
        file for file in files if can_match(filters, schema, pc.field(COMMIT_TIME) <= file.instant)
    )


def can_match(filters: pc.Expression, schema: pa.Schema, known: pc.Expression) -> bool:
    """Whether a row can pass a filter, given what is known of all rows."""
    # A dataset prunes its fragments by what is known of them without opening any.
    fragment = _PARQUET.make_fragment(pa.py_buffer(b""), partition_expression=known)
    dataset = ds.FileSystemDataset([fragment], schema, _PARQUET)
    return next(iter(dataset.get_fragments(filter=filters)), None) is not None
