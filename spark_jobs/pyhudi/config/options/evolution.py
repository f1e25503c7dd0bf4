"""How the rows of a write may differ from their table in columns and types."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from pyhudi.config import option
from pyhudi.config.option import declare, read_settings, setting
from pyhudi.errors import OptionError


class MissingColumns(Enum):
    """What becomes of a table's column that the rows lack."""

    REFUSE = "refuse"
    NULL = "null"
    DROP = "drop"


NULL_FOR_MISSING = declare(
    "hoodie.write.set.null.for.missing.columns", option.parse_bool, default=False
)
"""a table's column that the rows lack becomes null in them; otherwise it is refused"""
RECONCILE = declare("hoodie.datasource.write.reconcile.schema", option.parse_bool, default=False)
"""rows with fewer columns keep the table's schema and have nulls; rows with more give their order
to it"""
COLUMN_DROP = declare(
    "hoodie.datasource.write.schema.allow.auto.evolution.column.drop",
    option.parse_bool,
    default=False,
)
"""a table's column that the rows lack is dropped from the table"""
WRITE_SCHEMA = declare("hoodie.write.schema", option.parse_optional_text, default=None)
"""Avro schema of the table after the write, which the rows are converted to"""
KEY_TYPES_CHANGE = declare(
    "pyhudi.schema.allow.key.type.change", option.parse_bool, default=False, since="pyhudi"
)
"""rows may give record key, partition and ordering columns a wider type, where their values stay
the same texts; otherwise it is refused"""


@dataclass(frozen=True, slots=True, kw_only=True)
class EvolutionConfig:
    """How rows may differ from their table.

    ``keeps_row_order`` gives the table the order of rows that have all its columns and more;
    ``write_schema`` is the Avro text of the schema to write; ``changes_key_types`` lets columns
    that name, place or order records become wider.
    """

    missing: MissingColumns = MissingColumns.REFUSE
    keeps_row_order: bool = setting(RECONCILE)
    write_schema: str | None = setting(WRITE_SCHEMA)
    changes_key_types: bool = setting(KEY_TYPES_CHANGE)

    @classmethod
    def from_options(cls, options: Mapping[str, str]) -> EvolutionConfig:
        """The part of the options that is about columns and types.

        Raises:
            OptionError: missing columns are to be null and dropped at once.
        """
        reconciles = RECONCILE.read(options)
        is_null = NULL_FOR_MISSING.read(options) or reconciles
        if is_null and COLUMN_DROP.read(options):
            other = RECONCILE.key if reconciles else NULL_FOR_MISSING.key
            raise OptionError(
                f"{COLUMN_DROP.key} drops the columns that the rows lack and {other} keeps them; "
                "leave one of them out"
            )
        missing = MissingColumns.NULL if is_null else MissingColumns.REFUSE
        return read_settings(
            cls, options, missing=MissingColumns.DROP if COLUMN_DROP.read(options) else missing
        )
