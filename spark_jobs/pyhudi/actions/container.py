"""Plans and metadata that are one Avro record in an object container."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
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


@contextmanager
def only_record(data: bytes, what: str) -> Iterator[dict[str, Any]]:
    """The record in a file that holds ``what``, while its entries are read.

    Raises:
        CorruptTableError: the bytes are no container, or one of none or several records, or an
            entry is not there.
    """
    try:
        records = read_container(data, most=2)
        if len(records) != 1:
            what = "more" if records else "none"
            raise CorruptTableError(f"it should be one record, and there are {what}")
        yield records[0]
    except CorruptTableError as error:
        raise CorruptTableError(f"{what} cannot be read: {error}") from error
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise CorruptTableError(f"{what} lacks an entry: {error}") from error
