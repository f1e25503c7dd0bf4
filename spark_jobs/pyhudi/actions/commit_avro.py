"""What writes say as layout 2 of the timeline has it: an Avro record with the entries of the JSON.

Source: HoodieCommitMetadata.avsc, HoodieReplaceCommitMetadata.avsc and CommitMetadataSerDeV2,
Hudi 1.1.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pyhudi.actions.container import only_record, record_schema
from pyhudi.schema.codec import write_container

MAGIC: Final = b"Obj\x01"
"""How an Avro object container begins, which JSON never does."""

_REPLACED: Final = "partitionToReplaceFileIds"
_STATS: Final = "partitionToWriteStats"
_EXTRA: Final = "extraMetadata"
# Numbers that writers of JSON leave out, and those of Avro count as nothing.
_NOTHING: Final = {"totalLogReadTimeMs": 0, "numUpdates": 0}


def encode_commit(found: Mapping[str, Any]) -> bytes:
    """The bytes of an instant's file, of what its JSON would say."""
    name = "HoodieReplaceCommitMetadata" if _REPLACED in found else "HoodieCommitMetadata"
    stats = found[_STATS].items()
    record = {
        **found,
        _STATS: {path: [{**_NOTHING, **stat} for stat in own] for path, own in stats},
        _EXTRA: {key: value or "" for key, value in found[_EXTRA].items()},
        "version": None,
    }
    return write_container(record_schema(name), record)


def decode_commit(data: bytes) -> Mapping[str, Any]:
    """What the JSON of an instant's file would say, of its bytes in Avro.

    Raises:
        CorruptTableError: the bytes are no such record.
    """
    with only_record(data, "commit metadata") as found:
        return found
