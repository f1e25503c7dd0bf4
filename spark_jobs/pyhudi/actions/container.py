"""Plans and metadata that are one Avro record in an object container."""

from __future__ import annotations

from functools import cache
from importlib import resources
from typing import Any

from pyhudi.errors import CorruptTableError
from pyhudi.schema import avro
from pyhudi.schema.avro import AvroSchema
from pyhudi.schema.codec import read_container


@cache
def record_schema(name: str) -> AvroSchema:
    """Hudi's own schema of a record."""
    folder = resources.files("pyhudi.actions") / "avsc"
    return avro.parse((folder / f"{name}.avsc").read_text(encoding="utf-8"))


def only_record(data: bytes, what: str, where: str | None) -> dict[str, Any]:
    """The record in a file that holds ``what``.

    Raises:
        CorruptTableError: the bytes are no container, or one of none or several records.
    """
    try:
        records = read_container(data)
    except CorruptTableError as error:
        raise CorruptTableError(f"{what} cannot be read: {error}", where=where) from error
    if len(records) != 1:
        raise CorruptTableError(f"{what} should be one record, found {len(records)}", where=where)
    return records[0]


def lacks_entry(what: str, error: Exception, where: str | None) -> CorruptTableError:
    """The error that such a record is incomplete."""
    return CorruptTableError(f"{what} lacks an entry: {error}", where=where)
