"""Tables that Apache Hudi wrote, the rows it reads from them, and the text both are compared in."""

import atexit
import json
import re
import shutil
import tarfile
import tempfile
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from datetime import datetime, timezone
from decimal import Context
from functools import cache
from pathlib import Path
from typing import Any

import pyarrow as pa

ARCHIVES = Path(__file__).resolve().parent.parent / "golden"
SUFFIX = ".tar.xz"
_QUERIES = ("snapshot", "read_optimized", "time_travel_", "incremental_")
_WIDE = Context(prec=76)


def golden_names(prefix: str = "") -> tuple[str, ...]:
    """The tables there are, by name."""
    names = (path.name.removesuffix(SUFFIX) for path in ARCHIVES.glob(f"{prefix}*{SUFFIX}"))
    return tuple(sorted(names))


def golden_table(name: str) -> Path:
    """The folder of a table as Hudi left it, shared by all tests: read it, never write to it."""
    return _unpacked(name) / "table"


def golden_copy(name: str, folder: Path) -> Path:
    """A copy of a table below ``folder``, for a test that changes it."""
    target = folder / name
    shutil.copytree(golden_table(name), target)
    return target


class GoldenReplay:
    """A copy of a table whose commits appear one after another, in the order Hudi ended them in.

    At first there is none. The files that they wrote are there all the while, as those of writes
    are before they are completed.
    """

    def __init__(self, name: str, folder: Path) -> None:
        self.path = golden_copy(name, folder)
        meta = self.path / ".hoodie"
        self._timeline = meta / "timeline" if (meta / "timeline").is_dir() else meta
        self._aside = folder / f"{name} aside"
        self._aside.mkdir()
        groups: dict[str, list[Path]] = {}
        for file in self._timeline.iterdir():
            if named := _OF_INSTANT.match(file.name):
                moved = file.rename(self._aside / file.name)
                groups.setdefault(named.group(1), []).append(moved)
        ends = {max(map(_end, files)): files for files in groups.values()}
        self._waiting = [(end, ends[end]) for end in sorted(ends)]

    def __len__(self) -> int:
        return len(self._waiting)

    def go_on(self) -> str:
        """Let the next one appear; when it was completed, of version 6 when it was requested."""
        end, files = self._waiting.pop(0)
        # The completed file is the last, as of every writer.
        for file in sorted(files, key=lambda file: file.name.endswith("commit")):
            file.rename(self._timeline / file.name)
        return end


_OF_INSTANT = re.compile(r"(\d{17})(?:_(\d{17}))?\.")


def _end(file: Path) -> str:
    named = _OF_INSTANT.match(file.name)
    assert named
    return named.group(2) or named.group(1)


def golden_queries(name: str) -> tuple[str, ...]:
    """The queries whose rows are known: snapshot, time_travel_<instant>, incremental_<begin>…"""
    found = (path.stem for path in (_unpacked(name) / "expected").glob("*.jsonl"))
    return tuple(sorted(query for query in found if query.startswith(_QUERIES)))


def golden_instants(name: str) -> list[dict[str, Any]]:
    """The instants of the active timeline as Hudi lists them."""
    lines = (_unpacked(name) / "expected" / "timeline.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in lines.splitlines()]


def expected_rows(name: str, query: str = "snapshot") -> list[str]:
    """The sorted row texts of a query; of two Hudi versions that differ, the newer one's."""
    folder = _unpacked(name) / "expected"
    newest = folder / "by_1.1.1" / f"{query}.jsonl"
    path = newest if newest.exists() else folder / f"{query}.jsonl"
    return sorted(_text(json.loads(line)) for line in path.read_text(encoding="utf-8").splitlines())


def row_texts(table: pa.Table) -> list[str]:
    """The sorted row texts of an Arrow table, one JSON object a row.

    Decimals keep their scale and are text, as are dates, timestamps (six digits, ``Z`` when they
    have a zone), not-a-number and the infinities; bytes are hexadecimal; a map with text keys is an
    object, another one a sorted list of pairs.
    """
    columns = [
        [_renderer(field.type)(value) for value in table.column(position).to_pylist()]
        for position, field in enumerate(table.schema)
    ]
    names = table.schema.names
    return sorted(_text(dict(zip(names, row, strict=True))) for row in zip(*columns, strict=True))


def without(rows: Iterable[str], *columns: str) -> list[str]:
    """The same row texts with some columns left out."""
    kept = []
    for row in rows:
        values = json.loads(row)
        kept.append(_text({name: values[name] for name in values if name not in columns}))
    return sorted(kept)


def _text(value: object) -> str:
    return json.dumps(
        value, sort_keys=True, separators=(",", ":"), ensure_ascii=False, allow_nan=False
    )


Render = Callable[[Any], Any]


def _renderer(kind: pa.DataType) -> Render:
    """How a Python value of an Arrow type is written."""
    render = _nested_renderer(kind) or _scalar_renderer(kind)
    return lambda value: None if value is None else render(value)


def _nested_renderer(kind: pa.DataType) -> Render | None:
    if pa.types.is_dictionary(kind):
        return _renderer(kind.value_type)
    if pa.types.is_list(kind) or pa.types.is_large_list(kind):
        item = _renderer(kind.value_type)
        return lambda value: [item(each) for each in value]
    if pa.types.is_map(kind):
        return _map_renderer(kind)
    if pa.types.is_struct(kind):
        return _struct_renderer({field.name: _renderer(field.type) for field in kind})
    return None


def _struct_renderer(fields: Mapping[str, Render]) -> Render:
    return lambda value: {name: render(value[name]) for name, render in fields.items()}


def _map_renderer(kind: pa.MapType) -> Render:
    key, item = _renderer(kind.key_type), _renderer(kind.item_type)
    if pa.types.is_string(kind.key_type) or pa.types.is_large_string(kind.key_type):
        return lambda value: {key(each): item(found) for each, found in value}
    return lambda value: sorted(
        ([key(each), item(found)] for each, found in value), key=lambda pair: _text(pair[0])
    )


def _scalar_renderer(kind: pa.DataType) -> Render:
    if pa.types.is_floating(kind):
        return _number
    if pa.types.is_decimal(kind):
        unit = _WIDE.scaleb(1, -kind.scale)
        return lambda value: format(value.quantize(unit, context=_WIDE), "f")
    if pa.types.is_binary(kind) or pa.types.is_large_binary(kind):
        return bytes.hex
    if pa.types.is_date(kind):
        return lambda value: value.isoformat()
    if pa.types.is_timestamp(kind):
        return _zoned_timestamp if kind.tz else _local_timestamp
    return lambda value: value


def _zoned_timestamp(value: datetime) -> str:
    return _local_timestamp(value.astimezone(timezone.utc).replace(tzinfo=None)) + "Z"


def _local_timestamp(value: datetime) -> str:
    return value.isoformat(timespec="microseconds")


def _number(value: float) -> float | str:
    if value != value:
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "Infinity" if value > 0 else "-Infinity"
    return value


@cache
def _session_folder() -> Path:
    folder = tempfile.TemporaryDirectory(prefix="pyhudi-golden-")
    atexit.register(folder.cleanup)
    return Path(folder.name)


@cache
def _unpacked(name: str) -> Path:
    archive = ARCHIVES / f"{name}{SUFFIX}"
    if not archive.exists():
        raise LookupError(f"no golden table {name}; there are {', '.join(golden_names())}")
    with tarfile.open(archive) as tar:
        # Python before 3.11.4, as in Debian 12, has no filters; the archives are our own.
        tar.extraction_filter = getattr(tarfile, "data_filter", None)
        tar.extractall(_session_folder())
    _lay_down_source(_session_folder() / name)
    return _session_folder() / name


def _lay_down_source(golden: Path) -> None:
    """Put what a table was bootstrapped from where its index, which names whole paths, says."""
    if not (golden / "source").exists():
        return
    made = json.loads((golden / "README.json").read_text(encoding="utf-8"))
    source = Path(made["base_path_when_written"].removeprefix("file:")).parent / "source"
    source.parent.mkdir(parents=True, exist_ok=True)
    beside = Path(tempfile.mkdtemp(dir=source.parent)) / "source"
    shutil.copytree(golden / "source", beside)
    with suppress(OSError):  # another session has done so
        beside.rename(source)
    shutil.rmtree(beside.parent)
