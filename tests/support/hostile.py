"""Files whose bytes are made up of sound ones, and what opens each of them in production."""

import base64
import io
import json
import resource
import tracemalloc
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import strategies as st
from pyarrow import orc

from pyhudi.basefile.bloom.filter import DYNAMIC_V0, SIMPLE, BloomBuilder, BloomParameters
from pyhudi.basefile.footer import BLOOM_FILTER, BLOOM_TYPE_CODE, ORC_AVRO_SCHEMA
from pyhudi.basefile.orc.tail import with_user_metadata
from pyhudi.config.options.locks import LockConfig, LockProvider
from pyhudi.config.versions import TableVersion, TimelineLayout
from pyhudi.config.write import HeartbeatConfig
from pyhudi.errors import HudiError
from pyhudi.filegroup.promised import promises_of
from pyhudi.filegroup.slices import BaseFile
from pyhudi.fileslice.opener import open_base
from pyhudi.logfile.framing import BlockKind, HeaderKey, encode_block
from pyhudi.table.archived import ArchivedTimeline
from pyhudi.table.bootstrap_index import FILE_ID_INDEX, PARTITION_INDEX, read_bootstrap_index
from pyhudi.table.history import History
from pyhudi.table.properties_file import PROPERTIES_FILE, load_config
from pyhudi.table.table import load_table
from pyhudi.timeline.instant import Action, Instant, State
from pyhudi.timeline.layout import file_name
from pyhudi.transaction.heartbeat import is_alive
from pyhudi.transaction.lock.lease import Lease
from pyhudi.transaction.lock.lock_file import lock_text
from pyhudi.transaction.lock.opening import open_lock
from pyhudi.transaction.lock.storage_based import LOCK_OBJECT
from pyhudi.transaction.markers import read_markers
from pyhudi.transaction.process import ProcessMark
from tests.support import damage
from tests.support.clocks import FakeClock
from tests.support.golden import golden_table
from tests.support.log_files import SCHEMA
from tests.support.memory import MemoryStorage
from tests.support.timelines import active_of
from tests.support.versions import VersionedMemory

TIME = "20260101000000001"
BASE_BYTES, PER_BYTE = 4 << 20, 1_032
"""What an example may take: this, and for a byte of its file as much as deflate makes of one."""
_POOLS: list[pa.MemoryPool] = []
"""Kept, as what was made in one may be let go later."""
ROOM_BYTES = 512 << 20
"""What an example may take beside what the process has taken: no length of two GiB fits in."""

_LENGTHS = (
    *(b"\x7f\xff\xff\xff", b"\xff\xff\xff\xff", b"\xff\xff\xff\x7f", b"\x80\x00\x00\x00"),
    *(b"\x7f" + b"\xff" * 7, b"\xff" * 7 + b"\x7f", b"\xfe\xff\xff\xff\x0f", b"\x00" * 4),
    *(b"\xff" * 9 + b"\x01", b"\xff\xff\xff\xff\x07"),
)


@dataclass(frozen=True)
class Decoder:
    """What reads the file at ``path``, and sound bytes of which others are made up.

    ``framed`` puts the bytes into the file, where something else is wrapped around them.
    """

    path: str
    seeds: Sequence[bytes]
    read: Callable[[MemoryStorage], object]
    framed: Callable[[bytes], bytes] = bytes

    def storage(self, data: bytes) -> MemoryStorage:
        """A table with such a file, and nothing else of use."""
        return MemoryStorage({self.path: self.framed(data)})


@st.composite
def made_up(draw: st.DrawFn, seeds: Sequence[bytes]) -> bytes:
    """Bytes that were sound until something happened to them, once or several times."""
    data = bytearray(draw(st.sampled_from(seeds)))
    for _ in range(draw(st.sampled_from((1, 1, 1, 2, 3, 8)))):
        at = draw(st.integers(0, max(0, len(data) - 1)))
        match draw(st.integers(0, 6)):
            case 0 if data:
                data[at] ^= 1 << draw(st.integers(0, 7))
            case 1:
                data[at : at + 1] = draw(st.binary(min_size=1, max_size=4))
            case 2:
                length = draw(st.sampled_from(_LENGTHS))
                data[at : at + len(length)] = length
            case 3:
                data[at:at] = draw(st.sampled_from(_LENGTHS))
            case 4:
                del data[at : at + draw(st.sampled_from((1, 2, 4, 8, 50)))]
            case 5:
                del data[at:]
            case _:
                start = draw(st.integers(0, max(0, len(data) - 1)))
                data[at:at] = data[start : start + draw(st.integers(1, 64))]
    return bytes(data)


@contextmanager
def measured() -> Iterator[Callable[[], int]]:
    """A span of which it can be told how many bytes Arrow and Python took at most at once."""
    before = pa.default_memory_pool()
    pool = pa.proxy_memory_pool(before)
    _POOLS.append(pool)
    pa.set_memory_pool(pool)
    tracemalloc.start()
    try:
        yield lambda: (pool.max_memory() or 0) + tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
        pa.set_memory_pool(before)


@contextmanager
def little_room() -> Iterator[None]:
    """A span in which the process cannot take much more memory than it has."""
    before = resource.getrlimit(resource.RLIMIT_AS)
    with open("/proc/self/statm", encoding="ascii") as status:
        taken = int(status.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (taken + ROOM_BYTES, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_AS, before)


def decoders() -> Mapping[str, Decoder]:
    """Every kind of file that a reader or writer opens, by its name in words."""
    return {
        **_timeline(),
        **_later_timeline(),
        **_table_files(),
        **_locks(),
        **_base_files(),
        **_log_files(),
    }


def _timeline() -> dict[str, Decoder]:
    def of(
        action: Action, state: State, method: str, table: str, pattern: str, suffix: str
    ) -> Decoder:
        instant = Instant(time=TIME, action=action, state=state)

        def read(storage: MemoryStorage) -> None:
            getattr(active_of(storage), method)(instant)

        return Decoder(f".hoodie/{TIME}.{suffix}", _seeds(table, f".hoodie/*.{pattern}"), read)

    done, asked = State.COMPLETED, State.REQUESTED
    commits = of(Action.COMMIT, done, "", "v6_cow_basic", "commit", "commit")
    logged = _seeds("v6_mor_logs_avro", ".hoodie/*.deltacommit")[:1]
    replaced = _seeds("v6_cow_overwrite", ".hoodie/*.replacecommit")[:1]
    return {
        "commit metadata": Decoder(
            commits.path, (*commits.seeds[:1], *logged, *replaced), _read_commit
        ),
        "compaction plan": of(
            Action.COMPACTION,
            asked,
            "read_compaction_plan",
            "v6_mor_pending_compaction",
            "compaction.requested",
            "compaction.requested",
        ),
        "rollback plan": of(
            Action.ROLLBACK,
            asked,
            "read_rollback_plan",
            "v6_cow_rollback",
            "rollback.requested",
            "rollback.requested",
        ),
        "rollback metadata": of(
            Action.ROLLBACK, done, "read_rollback", "v6_cow_rollback", "rollback", "rollback"
        ),
        "clean metadata": of(Action.CLEAN, done, "read_clean", "v6_cow_clean", "clean", "clean"),
        "clean plan": of(
            Action.CLEAN,
            asked,
            "read_clean_plan",
            "v6_cow_clean",
            "clean.requested",
            "clean.requested",
        ),
        "savepoint": of(
            Action.SAVEPOINT, done, "read_savepoint", "v6_cow_restore", "savepoint", "savepoint"
        ),
        "restore plan": of(
            Action.RESTORE,
            asked,
            "read_restore_plan",
            "v6_cow_restore",
            "restore.requested",
            "restore.requested",
        ),
        "restore metadata": of(
            Action.RESTORE, done, "read_restore", "v6_cow_restore", "restore", "restore"
        ),
        "archive file": Decoder(
            ".hoodie/archived/.commits_.archive.1_1-0-1",
            _seeds("v6_cow_archived", ".hoodie/archived/.commits_.archive.*_1-0-1"),
            _read_archive,
        ),
        "clustering plan": of(
            Action.REPLACE_COMMIT,
            asked,
            "clustered_groups",
            "v6_cow_pending_clustering",
            "replacecommit.requested",
            "replacecommit.requested",
        ),
    }


def _later_timeline() -> dict[str, Decoder]:
    """What layout 2 of the timeline has, of table versions 8 and 9."""
    table, folder = "v9_cow_archived", ".hoodie/timeline/history"
    found = Instant(
        time=TIME, action=Action.COMMIT, state=State.COMPLETED, completion_time=TIME[:-1] + "9"
    )
    seeds = _seeds("v9_cow_basic", ".hoodie/timeline/*_*.commit")[:1]
    seeds += _seeds("v9_cow_overwrite", ".hoodie/timeline/*_*.replacecommit")[:1]
    seeds += _seeds("v9_mor_basic", ".hoodie/timeline/*_*.deltacommit")[:1]
    (archived, *_) = sorted(golden_table(table).glob(f"{folder}/*.parquet"))
    names = {"files": [{"fileName": archived.name, "fileLen": 1}]}
    manifest = json.dumps(names).encode()

    def read_commit(storage: MemoryStorage) -> None:
        found_there = active_of(storage, TableVersion.NINE).read_replace_commit(found)
        tuple(promises_of(TIME, found_there.commit.write_stats, {}))

    def read_manifest(storage: MemoryStorage) -> None:
        storage.put(f"{folder}/{archived.name}", b"")
        History(storage=storage, folder=folder).files()

    def read_history(storage: MemoryStorage) -> None:
        storage.put(f"{folder}/manifest_1", manifest)
        ArchivedTimeline(storage=storage, folder=folder, layout=TimelineLayout.TWO).load()

    return {
        "commit metadata, version 9": Decoder(
            f".hoodie/timeline/{file_name(found, TableVersion.NINE)}", seeds, read_commit
        ),
        "manifest of the archive, version 9": Decoder(
            f"{folder}/manifest_1", _seeds(table, f"{folder}/manifest_*"), read_manifest
        ),
        "archive file, version 9": Decoder(
            f"{folder}/{archived.name}", [archived.read_bytes()], read_history
        ),
    }


def _locks() -> dict[str, Decoder]:
    clock = FakeClock(0)

    def look(storage: MemoryStorage) -> None:
        open_lock(storage, LockConfig(provider=LockProvider.FILE_SYSTEM), clock).look()

    def look_at_lease(storage: MemoryStorage) -> None:
        store = VersionedMemory(clock)
        for path, data in storage.files.items():
            store.put(path, data)
        open_lock(store, LockConfig(provider=LockProvider.STORAGE), clock).look()

    lease = Lease(is_over=False, until_ms=1, owner="a").to_bytes()
    mark = lock_text("a", ProcessMark.here(), 1)
    return {
        "lock of the file system provider": Decoder(".hoodie/lock", [mark], look),
        "lock of the storage-based provider": Decoder(LOCK_OBJECT, [lease], look_at_lease),
    }


def _read_archive(storage: MemoryStorage) -> None:
    ArchivedTimeline(storage=storage, folder=".hoodie/archived").load()


def _read_commit(storage: MemoryStorage) -> None:
    instant = Instant(time=TIME, action=Action.COMMIT, state=State.COMPLETED)
    found = active_of(storage).read_replace_commit(instant)
    tuple(promises_of(TIME, found.commit.write_stats, {}))
    found.to_bytes()


def _table_files() -> dict[str, Decoder]:
    properties = _seeds("v6_cow_basic", PROPERTIES_FILE)
    markers = f".hoodie/.temp/{TIME}/MARKERS0"
    lines = b"p/a_0-0-0_1.parquet.marker.CREATE\np/.a_1.log.1_0-0-0.marker.APPEND\n"
    schema = json.dumps(
        {
            "type": "record",
            "name": "row",
            "fields": [
                {"name": "a", "type": ["null", "string"], "default": None},
                {"name": "b", "type": {"type": "array", "items": "long"}},
                {"name": "c", "type": {"type": "map", "values": "double"}},
                {
                    "name": "d",
                    "type": {
                        "type": "fixed",
                        "name": "f",
                        "size": 4,
                        "logicalType": "decimal",
                        "precision": 5,
                        "scale": 2,
                    },
                },
            ],
        }
    ).encode()

    def in_commit(data: bytes) -> bytes:
        text = data.decode("utf-8", "replace")
        found = {"operationType": "UPSERT", "extraMetadata": {"schema": text}}
        return json.dumps(found).encode()

    def read_index(storage: MemoryStorage) -> None:
        storage.put(FILE_ID_INDEX, b"")
        read_bootstrap_index(storage)

    def read_schema(storage: MemoryStorage) -> None:
        storage.put(PROPERTIES_FILE, properties[0])
        load_table(storage).schema()

    return {
        "bootstrap index": Decoder(
            PARTITION_INDEX, _seeds("v6_cow_bootstrap", PARTITION_INDEX), read_index
        ),
        "properties": Decoder(PROPERTIES_FILE, properties, load_config),
        "schema in a commit": Decoder(f".hoodie/{TIME}.commit", [schema], read_schema, in_commit),
        "marker list": Decoder(markers, [lines], lambda storage: read_markers(storage, TIME)),
        "heartbeat": Decoder(
            f".hoodie/.heartbeat/{TIME}",
            [b"1234 host boot pid:[4026531836] 17", b"{}", b""],
            lambda storage: is_alive(storage, TIME, now_ms=0, config=HeartbeatConfig()),
        ),
    }


def _base_files() -> dict[str, Decoder]:
    rows = pa.table(
        {
            "_hoodie_record_key": ["a", "b"],
            "x": [1, 2],
            "s": ["aa", None],
            "t": pa.array([1, 2], pa.timestamp("us")),
        }
    )
    sink = io.BytesIO()
    orc.write_table(rows, sink, compression="zlib")
    entries = {ORC_AVRO_SCHEMA: json.dumps(SCHEMA)}
    orc_file = with_user_metadata(sink.getvalue(), entries)

    def in_footer(code: str, data: bytes) -> bytes:
        text = base64.b64encode(data).decode("ascii")
        named = rows.replace_schema_metadata({BLOOM_FILTER: text, BLOOM_TYPE_CODE: code})
        out = io.BytesIO()
        pq.write_table(named, out)
        return out.getvalue()

    found = {
        "Parquet base file": Decoder(
            "p/g_0-0-0_1.parquet", _seeds("v6_cow_basic", "north/*.parquet")[:1], _read_base
        ),
        "ORC base file": Decoder("p/g_0-0-0_1.orc", [orc_file], _read_base),
    }
    for code in (SIMPLE, DYNAMIC_V0):
        parameters = BloomParameters(num_entries=5, max_entries=10, type=code)
        filter_bytes = base64.b64decode(BloomBuilder(parameters).to_text())
        found[f"bloom filter, {code}"] = Decoder(
            "p/g_0-0-0_1.parquet", [filter_bytes], _read_base, partial(in_footer, code)
        )
    return found


def _read_base(storage: MemoryStorage) -> None:
    (path,) = storage.files
    file = BaseFile.of("p", path.removeprefix("p/"), len(storage.files[path]))
    assert file is not None
    with open_base(storage, file) as base:
        for _ in base.tables(base.schema.names):
            pass
        bloom = base.footer.bloom_filter()
        if bloom is not None:
            bloom.contains(pa.array(["a", "c"]))


def _log_files() -> dict[str, Decoder]:
    rows = (("a", 2, "changed"), ("m", -3, None), ("n", 3, "näme"))
    pieces = {
        BlockKind.AVRO: damage.avro("3", *rows),
        BlockKind.PARQUET: damage.parquet("3", *rows),
        BlockKind.HFILE: damage.hfile("3", *rows),
        BlockKind.DELETE: damage.gone("3", "a", "n"),
    }
    path = "p/.g_1.log.1_0-0-0"
    header = {HeaderKey.INSTANT_TIME: "3", HeaderKey.SCHEMA: json.dumps(SCHEMA)}

    def in_block(kind: BlockKind, content: bytes) -> bytes:
        return encode_block(kind, header, content)

    def with_schema(data: bytes) -> bytes:
        text = data.decode("utf-8", "replace")
        content = pieces[BlockKind.AVRO].data[slice_of(pieces[BlockKind.AVRO])]
        return encode_block(BlockKind.AVRO, {**header, HeaderKey.SCHEMA: text}, content)

    found = {
        "log file": Decoder(path, [piece.data for piece in pieces.values()], _read_logs),
        "schema of a log block": Decoder(
            path, [json.dumps(SCHEMA).encode()], _read_logs, with_schema
        ),
    }
    for kind, piece in pieces.items():
        content = piece.data[slice_of(piece)]
        found[f"content of a log block, {kind.name}"] = Decoder(
            path, [content], _read_logs, partial(in_block, kind)
        )
    return found


def slice_of(piece: damage.Piece) -> slice:
    """Where the content of a block lies in its bytes."""
    return slice(piece.content.start, piece.content.stop)


def _read_logs(storage: MemoryStorage) -> None:
    found = damage.read(storage.files)
    if isinstance(found, HudiError):
        raise found


def _seeds(table: str, pattern: str) -> list[bytes]:
    return [path.read_bytes() for path in sorted(golden_table(table).glob(pattern))]
