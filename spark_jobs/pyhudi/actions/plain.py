"""What an instant's file says, whatever its action, as plain values for people to look at.

Source: the bodies of timeline files, Hudi 0.15 and 1.1: pretty JSON for writes in layout 1, an Avro
object container of one record for all else, nothing at all for many pending ones.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pyhudi.actions.commit_avro import MAGIC
from pyhudi.actions.container import only_record
from pyhudi.errors import CorruptTableError


@dataclass(frozen=True, slots=True, kw_only=True)
class PlainBody:
    """The entries of an instant's file by their names; none for an empty one."""

    entries: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def from_bytes(cls, data: bytes) -> PlainBody:
        """The entries in a file of a timeline.

        Raises:
            CorruptTableError: the bytes are neither a JSON object nor one Avro record.
        """
        if not data:
            return cls()
        if data.startswith(MAGIC):
            with only_record(data, "the file of the instant") as found:
                return cls(entries=found)
        try:
            entries = json.loads(data)
        except ValueError as error:
            raise CorruptTableError(f"the file of the instant is no JSON: {error}") from error
        if not isinstance(entries, dict):
            raise CorruptTableError("the file of the instant holds no JSON object")
        return cls(entries=entries)
