"""The two files of a bootstrap's index, by partition and by file id: read, made and dropped.

Readers need the one by partition alone, as it has all that the other has. Hudi takes the index for
absent unless both are there, so both are written.

Source: HFileBootstrapIndex and HFileBootstrapIndexWriter, Hudi 0.15 and 1.1.
"""

from __future__ import annotations

import io
from collections.abc import Collection, Iterator, Mapping
from typing import Final

from pyhudi.actions.bootstrap_index import BootstrapIndex, BootstrappedPartition, IndexInfo
from pyhudi.basefile.hfile.reader import HFile, iter_entries, open_hfile
from pyhudi.basefile.hfile.writer import HFileForm, write_hfile
from pyhudi.errors import CorruptTableError, MissingFileError, located
from pyhudi.storage.storage import Storage

_FILE: Final = "00000000-0000-0000-0000-000000000000-0_1-0-1_00000000000001.hfile"
PARTITION_INDEX: Final = f".hoodie/.aux/.bootstrap/.partitions/{_FILE}"
FILE_ID_INDEX: Final = f".hoodie/.aux/.bootstrap/.fileids/{_FILE}"
"""Where the files lie, relative to the table; the names never change."""

_INFO: Final = b"INDEX_INFO"
_PARTITION: Final = "part="
_FILE_ID: Final = ";fileid="


def read_bootstrap_index(
    storage: Storage, partitions: Collection[str] | None = None
) -> BootstrapIndex | None:
    """The index of a table; None where there is none, or but one of its two files.

    ``partitions`` are those to read, all where it is None.

    Raises:
        CorruptTableError: the file by partition is no such index, or damaged.
        UnsupportedError: it is an HFile of a form that is not read.
    """
    try:
        content = storage.read(PARTITION_INDEX)
    except MissingFileError:
        return None
    if not storage.exists(FILE_ID_INDEX):
        return None
    with located(PARTITION_INDEX):
        file = open_hfile(content)
        info = IndexInfo.from_bytes(file.info.get(_INFO, b""))
        if info.key_count != file.entry_count:
            raise CorruptTableError(
                f"the bootstrap index has {file.entry_count} partitions and says {info.key_count}"
            )
        wanted = None if partitions is None else frozenset(partitions)
        found = {each.partition_path: each for each in _partitions(file, wanted)}
    return BootstrapIndex(
        source_base_path=info.source_base_path, created_ms=info.created_ms, partitions=found
    )


def bootstrap_index_files(index: BootstrapIndex) -> Mapping[str, bytes]:
    """Both files of an index, whole, by their paths relative to the table.

    Guarantees: keys are in the order of their bytes, by which readers seek. That is not the order
        of partitions: of ``1`` and ``10`` the latter comes first among the keys by file id.

    Raises:
        UnsupportedError: more source files than one index of Hudi's has room for.
    """
    partitions = index.partitions.values()
    by_partition = {_PARTITION + each.partition_path: each.to_bytes() for each in partitions}
    by_file_id = {
        f"{_PARTITION}{each.partition_path}{_FILE_ID}{file_id}": value
        for each in partitions
        for file_id, value in each.file_values()
    }
    return {
        PARTITION_INDEX: _index_file(index, by_partition),
        FILE_ID_INDEX: _index_file(index, by_file_id),
    }


def drop_bootstrap_index(storage: Storage) -> None:
    """Delete both files, as the rollback of a bootstrap does; absent is fine."""
    storage.delete_all((PARTITION_INDEX, FILE_ID_INDEX))


def _index_file(index: BootstrapIndex, values: Mapping[str, bytes]) -> bytes:
    info = IndexInfo(
        source_base_path=index.source_base_path,
        created_ms=index.created_ms,
        key_count=len(values),
    )
    sink = io.BytesIO()
    write_hfile(
        sink,
        sorted((key.encode(), value) for key, value in values.items()),
        info={_INFO: info.to_bytes()},
        form=HFileForm(created_ms=index.created_ms),
    )
    return sink.getvalue()


def _partitions(file: HFile, wanted: Collection[str] | None) -> Iterator[BootstrappedPartition]:
    for entries in iter_entries(file):
        spans = zip(
            *(entries.key_starts.tolist(), entries.key_ends.tolist()),
            *(entries.value_starts.tolist(), entries.value_ends.tolist()),
            strict=True,
        )
        for key_start, key_end, value_start, value_end in spans:
            path = _partition_path(entries.data[key_start:key_end])
            if wanted is None or path in wanted:
                yield _partition(path, entries.data[value_start:value_end])


def _partition_path(key: bytes) -> str:
    text = key.decode("utf-8", "replace")
    if not text.startswith(_PARTITION):
        raise CorruptTableError(f"the bootstrap index has the key {text!r}")
    return text.removeprefix(_PARTITION)


def _partition(path: str, value: bytes) -> BootstrappedPartition:
    found = BootstrappedPartition.from_bytes(value)
    if found.partition_path != path:
        raise CorruptTableError(
            f"the bootstrap index has partition {found.partition_path!r} under that of {path!r}"
        )
    return found
