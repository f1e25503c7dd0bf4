"""Put instants into the archive of layout 2, and keep its files few.

::

    file of instants ── manifest_<n+1> ──▶ no manifest is higher ── _version_ deleted

Several may archive at once, and anyone may stop anywhere. A file of instants gets a name that is
not there yet. A manifest is created under the number after the highest that was listed, and names
what the highest valid one names: of two who add to one manifest one fails. From then on the number
of the highest manifest only rises, and who finds a higher one after its own takes its own back.

Hudi notes the number that counts in ``_version_``, which it deletes and makes again. Whoever would
write it late would take the archive back to before others had deleted what they archived.
So it is not written here but deleted: without it the highest manifest counts, for Hudi too. As long
as it is there, manifests above it are of those who stopped, Hudi or we, and one that names all
that the noted one names is gone on from.

Source: LSMTimelineWriter, Hudi 1.0 and 1.1.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import count
from typing import Final

import pyarrow as pa
import pyarrow.parquet as pq

from pyhudi.actions.container import record_schema
from pyhudi.actions.history_row import HistoryRow
from pyhudi.basefile.footer import AVRO_SCHEMA, WRITER_MODEL
from pyhudi.errors import (
    AlreadyExistsError,
    CorruptTableError,
    MissingFileError,
    StorageError,
)
from pyhudi.schema.avro import dumps
from pyhudi.storage.storage import FileStatus
from pyhudi.table.history import (
    ACTION,
    COMPLETION_TIME,
    METADATA,
    PLAN,
    TIME,
    VERSION,
    History,
    HistoryFile,
    Listing,
    Manifest,
)

MERGED_AT: Final = 10
"""So many files of a level become one of the next, as Hudi has it by default."""
MERGED_MOST_BYTES: Final = 16 << 20
"""Files that are larger together are not merged, as the merged one is made in memory."""
MANIFESTS_KEPT: Final = 3
"""So many manifests stay, and one more for each level that was merged, for readers at work."""

_TRIES: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Base:
    """What an archiver goes on from: the manifest whose files stay, and the listing it is of."""

    manifest: Manifest
    listing: Listing

    @property
    def next_number(self) -> int:
        """The number of the next manifest."""
        return max((*self.listing.manifests, self.listing.noted or 0), default=0) + 1


def base_of(history: History) -> Base:
    """The manifest to go on from, as it is now.

    Raises:
        CorruptTableError: the one that counts cannot be read, or a file that it names is gone.
        MissingFileError: the archive has gone on whenever it was looked at.
    """
    for _ in range(_TRIES):
        # The archive may have gone on since it was listed.
        with suppress(MissingFileError):
            found = _base_in(history, history.look())
            if found.manifest.names <= found.listing.files:
                return found
    history.files()
    raise MissingFileError(f"{history.storage.absolute(history.folder)} goes on; retry")


def known_instants(history: History, base: Base, first: str, last: str) -> set[tuple[str, str]]:
    """The instants from one to another that are archived, by their times and actions.

    Opens the files alone whose names have room for them.
    """
    found: set[tuple[str, str]] = set()
    for file in base.manifest.files:
        if file.first <= last and file.last >= first:
            rows = history.rows(_status(history, file), (TIME, ACTION), first)
            found.update(zip(rows[TIME].to_pylist(), rows[ACTION].to_pylist(), strict=True))
    return found


def append(history: History, base: Base, rows: Sequence[HistoryRow]) -> Base:
    """Add instants, oldest first; without any what was added before is made to count.

    Gives what to go on from afterwards.

    Raises:
        AlreadyExistsError: another archiver was faster; nothing was added.
    """
    if rows:
        file = _create(history, base, rows[0].time, rows[-1].time, 0, _encoded(rows))
        return _publish(history, base, (*base.manifest.files, file), file)
    if base.listing.noted in (None, base.manifest.number):
        return base
    if base.manifest.number == base.next_number - 1:
        _forget_number(history)
        return replace(base, listing=replace(base.listing, noted=None))
    return _publish(history, base, base.manifest.files, None)


def merge_levels(history: History, base: Base) -> tuple[Base, int]:
    """Make one file of the oldest ones of each level that has too many; how many levels had.

    Raises:
        AlreadyExistsError: another archiver was faster; what it left counts.
        MissingFileError: another archiver has merged these files, and swept them.
    """
    level = 0
    while chosen := _to_merge(base.manifest, level):
        first, last = min(f.first for f in chosen), max(f.last for f in chosen)
        data = _merged(history, chosen)
        level += 1
        file = _create(history, base, first, last, level, data)
        kept = tuple(each for each in base.manifest.files if each not in chosen)
        base = _publish(history, base, (*kept, file), file)
    return base, level


def _to_merge(manifest: Manifest, level: int) -> tuple[HistoryFile, ...]:
    """The oldest files of a level, where it has too many; none where they are too large."""
    own = sorted((f for f in manifest.files if f.level == level), key=lambda file: file.name)
    chosen = tuple(_few(own[:MERGED_AT])) if len(own) >= MERGED_AT else ()
    return chosen if len(chosen) > 1 else ()


def sweep(history: History, seen: Listing, merged: int, is_left: Collection[str]) -> None:
    """Delete the older manifests, and what no other names of the files that were ``seen``.

    ``seen`` is from before the caller's own manifest was made: whoever had made a file by then, and
    not its manifest, cannot make that any more. ``is_left`` are the times of the instants on the
    timeline, which may get a file of their own yet, whose name must not have been swept late.
    """
    listing = history.look()
    if listing.noted is not None:
        return
    kept, named = listing.manifests[: MANIFESTS_KEPT + merged], set[str]()
    old = set(listing.manifests) - set(kept)
    for number in kept:
        found = _whole(history, number)
        if found is None:
            old.add(number)
        else:
            named |= found.names
    spent = {
        name
        for name in seen.files & listing.files - named
        if not _may_be_made_again(HistoryFile(name=name, size_bytes=0), is_left)
    }
    _delete(history, listing, sorted(f"manifest_{number}" for number in old))
    _delete(history, listing, sorted(spent))


def _base_in(history: History, listing: Listing) -> Base:
    if listing.noted is None:
        number = next(iter(listing.manifests), 0)
        counting = history.manifest(number) if number else Manifest()
        return Base(manifest=counting, listing=listing)
    counting = history.manifest(listing.noted)
    for number in listing.manifests:
        above = _whole(history, number) if number > listing.noted else None
        if above is not None and above.names >= counting.names:
            return Base(manifest=above, listing=listing)
    return Base(manifest=counting, listing=listing)


def _may_be_made_again(file: HistoryFile, is_left: Collection[str]) -> bool:
    return file.level == 0 and any(file.first <= time <= file.last for time in is_left)


def _whole(history: History, number: int) -> Manifest | None:
    """A manifest; None where whoever wrote it stopped midway, or another has swept it."""
    try:
        return history.manifest(number)
    except (CorruptTableError, MissingFileError):
        return None


def _publish(
    history: History, base: Base, files: tuple[HistoryFile, ...], made: HistoryFile | None
) -> Base:
    """Make a manifest of these files the one that counts, ``made`` among them."""
    number = base.next_number
    entries = [{"fileName": each.name, "fileLen": each.size_bytes} for each in files]
    text = json.dumps({"files": entries}, indent=2).encode()
    path, manifest = history.path(f"manifest_{number}"), Manifest(number=number, files=files)
    try:
        history.storage.create(path, text)
    except StorageError as error:
        # A call without an answer may have done its work.
        if not _says(history, path, text):
            if made is not None and isinstance(error, AlreadyExistsError):
                history.storage.delete(history.path(made.name))
            raise
    listing = history.look()
    if listing.manifests[0] > number:
        # Others go on from it already, or it was swept and took the place of an old one.
        manifest = history.manifest(listing.manifests[0])
        if made is None or made.name not in manifest.names:
            raise AlreadyExistsError(f"{history.storage.absolute(path)}: another was faster")
    if VERSION in listing.entries:
        _forget_number(history)
    return Base(manifest=manifest, listing=replace(listing, noted=None))


def _says(history: History, path: str, text: bytes) -> bool:
    try:
        return history.storage.read(path) == text
    except StorageError:
        return False


def _delete(history: History, listing: Listing, names: Iterable[str]) -> None:
    """Delete files, and the checksums that Hadoop left beside them."""
    for name in names:
        for each in (f".{name}.crc", name):
            if each in listing.entries:
                history.storage.delete(history.path(each))


def _forget_number(history: History) -> None:
    history.storage.delete(history.path(VERSION))
    history.storage.delete(history.path(f".{VERSION}.crc"))


def _create(
    history: History, base: Base, first: str, last: str, level: int, data: bytes
) -> HistoryFile:
    """A file of instants, under a name that is not there yet.

    Whoever stopped after making one of the same instants has left its name: then it is said that
    the instants begin a millisecond earlier.
    """
    name = next(
        name
        for earlier in count()
        if (name := f"{int(first) - earlier:0{len(first)}d}_{last}_{level}.parquet")
        not in base.listing.entries
    )
    history.storage.create(history.path(name), data)
    return HistoryFile(name=name, size_bytes=len(data))


def _few(files: Iterable[HistoryFile]) -> Iterator[HistoryFile]:
    """The first files that are small enough together."""
    size = 0
    for file in files:
        size += file.size_bytes
        if size > MERGED_MOST_BYTES:
            return
        yield file


def _status(history: History, file: HistoryFile) -> FileStatus:
    path = history.path(file.name)
    return FileStatus(path=path, size_bytes=file.size_bytes, modified_ms=0, is_dir=False)


def _merged(history: History, files: Iterable[HistoryFile]) -> bytes:
    sink = pa.BufferOutputStream()
    with _writer(sink) as writer:
        for file in files:
            rows = history.rows(_status(history, file), _schema().names)
            writer.write_table(rows.cast(_schema()))
    return bytes(sink.getvalue())


def _encoded(rows: Iterable[HistoryRow]) -> bytes:
    found = [
        {
            TIME: row.time,
            COMPLETION_TIME: row.completion_time,
            ACTION: row.action,
            METADATA: row.metadata,
            PLAN: row.plan,
            "version": 1,
        }
        for row in rows
    ]
    sink = pa.BufferOutputStream()
    with _writer(sink) as writer:
        writer.write_table(pa.Table.from_pylist(found, schema=_schema()))
    return bytes(sink.getvalue())


def _schema() -> pa.Schema:
    texts = [pa.field(name, pa.string()) for name in (TIME, COMPLETION_TIME, ACTION)]
    bodies = [pa.field(name, pa.binary()) for name in (METADATA, PLAN)]
    return pa.schema([*texts, *bodies, pa.field("version", pa.int32(), nullable=False)])


def _writer(sink: pa.BufferOutputStream) -> pq.ParquetWriter:
    writer = pq.ParquetWriter(
        sink,
        _schema(),
        compression="gzip",
        use_dictionary=False,
        write_statistics=[TIME],
        store_schema=False,
    )
    own = dumps(record_schema("HoodieLSMTimelineInstant"))
    writer.add_key_value_metadata({WRITER_MODEL: "avro", AVRO_SCHEMA: own})
    return writer
