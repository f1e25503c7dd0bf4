"""Log files of several blocks, whole and damaged, and what reading them comes to."""

from __future__ import annotations

import io
import json
import struct
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import pyarrow as pa
import pyarrow.parquet as pq

from pyhudi.config.options.merging import MergeMode
from pyhudi.errors import HudiError
from pyhudi.fileslice.logs import read_log_records
from pyhudi.fileslice.reading import SliceReading
from pyhudi.logfile.framing import MAGIC, BlockKind, HeaderKey, encode_block
from pyhudi.merge.rule import MergeRule
from tests.support.hfiles import CRC32, hfile_block
from tests.support.log_files import SCHEMA, avro_block, committed, delete_block, rows

TABLE = pa.schema([("_hoodie_record_key", pa.string()), ("ts", pa.int64()), ("name", pa.string())])
KEY = "_hoodie_record_key"

State = Mapping[str, tuple[int | None, str | None] | None]
"""What each key comes to: the values of its row, or None for deleted."""


@dataclass(frozen=True)
class Piece:
    """A block as it was written: its bytes, and what it makes of the keys that it names."""

    data: bytes
    changes: State

    @property
    def content(self) -> range:
        """Where in the bytes the content lies."""
        return self._parts()[1]

    @property
    def values(self) -> range:
        """Where the texts of the header's entries lie, their lengths and keys between them."""
        return self._parts()[0]

    @property
    def telling(self) -> list[int]:
        """Where bytes lie that say something: all but those within long rows of zeros."""
        return [at for at in range(len(self.data)) if any(self.data[max(0, at - 16) : at + 16])]

    def _parts(self) -> tuple[range, range]:
        at = len(MAGIC) + 8 + 8
        (count,) = struct.unpack_from(">i", self.data, at)
        start = at = at + 4
        for _ in range(count):
            at += 8 + struct.unpack_from(">i", self.data, at + 4)[0]
        (length,) = struct.unpack_from(">q", self.data, at)
        return range(start, at), range(at + 8, at + 8 + length)


def avro(instant: str, *values: tuple[str, int | None, str | None]) -> Piece:
    return Piece(avro_block(instant, rows(*values)), {k: (ts, name) for k, ts, name in values})


def parquet(instant: str, *values: tuple[str, int | None, str | None]) -> Piece:
    """A Parquet block whose pages have checksums, as those of Hudi have."""
    table = pa.Table.from_pylist(rows(*values), TABLE)
    sink = io.BytesIO()
    pq.write_table(table, sink, write_page_checksum=True, compression="none")
    header = {HeaderKey.INSTANT_TIME: instant, HeaderKey.SCHEMA: json.dumps(SCHEMA)}
    data = encode_block(BlockKind.PARQUET, header, sink.getvalue())
    return Piece(data, {k: (ts, name) for k, ts, name in values})


def hfile(instant: str, *values: tuple[str, int | None, str | None]) -> Piece:
    """An HFile block whose blocks have checksums, as those of Hudi's writer by way of HBase."""
    data = hfile_block(instant, rows(*values), checksum=CRC32)
    return Piece(data, {k: (ts, name) for k, ts, name in values})


def gone(instant: str, *keys: str) -> Piece:
    return Piece(delete_block(instant, *keys), dict.fromkeys(keys))


def state_of(pieces: Sequence[Piece]) -> State:
    """What blocks come to, one after another."""
    found: dict[str, tuple[int | None, str | None] | None] = {}
    for piece in pieces:
        found |= piece.changes
    return found


def read(files: Mapping[str, bytes]) -> State | HudiError:
    """What log files come to by order of arrival, or the typed error that they are refused with."""

    @contextmanager
    def open_file(name: str) -> Iterator[pa.NativeFile]:
        yield pa.BufferReader(files[name])

    reading = SliceReading(
        rule=MergeRule(mode=MergeMode.COMMIT_TIME), timeline=committed(*"123456789")
    )
    try:
        found = read_log_records(list(files), open_file, TABLE, reading)
    except HudiError as error:
        return error
    values = found.rows.to_pylist()
    return {
        key: None if is_gone else (row["ts"], row["name"])
        for key, row, is_gone in zip(found.keys.to_pylist(), values, found.is_delete, strict=True)
    }
