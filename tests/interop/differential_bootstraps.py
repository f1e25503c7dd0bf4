"""Random histories that begin with a dataset: how it is laid down, and what becomes of it."""

import os
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from random import Random

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from pyhudi.keys.partition_path import escape
from tests.interop.bootstrap_cases import FILES, ROWS_IN_A_GROUP, SELECTOR
from tests.interop.differential_rows import PARTITION_COLUMNS
from tests.interop.differential_shapes import WRITE, Shape

BOOTSTRAP = "bootstrap"
# PYHUDI_BEGIN=bootstrap lets every history begin with one.
SHARE = 1.0 if os.environ.get("PYHUDI_BEGIN") == BOOTSTRAP else 0.25
_CLASSES = "org.apache.hudi.client.bootstrap.selector."
_KEYGENS = "org.apache.hudi.keygen."
MODES: Mapping[str, Mapping[str, str]] = {
    "metadata": {SELECTOR: f"{_CLASSES}MetadataOnlyBootstrapModeSelector"},
    "full": {SELECTOR: f"{_CLASSES}FullRecordBootstrapModeSelector"},
    "mixed": {
        SELECTOR: f"{_CLASSES}BootstrapRegexModeSelector",
        f"{SELECTOR}.regex": ".*a(sia|frica)",
        f"{SELECTOR}.regex.mode": "METADATA_ONLY",
    },
}


def with_bootstrap(rng: Random, shape: Shape, *, is_asked: bool) -> Shape:
    """The same table, or one that a history makes of a dataset first; where asked, if it can be."""
    is_drawn = rng.random() < SHARE
    # See known_differences.NOT_DRAWN.
    if not (is_drawn or is_asked) or not {*shape.partitions} <= {"region"}:
        return shape
    mode = rng.choice(tuple(MODES) if shape.partitions else ("metadata", "full"))
    generator = "Complex"
    if not shape.partitions:
        generator = "Nonpartitioned"
    elif len(shape.keys) == len(shape.partitions) == 1:
        generator = "Simple"
    more = {
        **MODES[mode],
        "hoodie.bootstrap.keygen.class": f"{_KEYGENS}{generator}KeyGenerator",
        "hoodie.bootstrap.full.input.provider": (
            "org.apache.hudi.bootstrap.SparkParquetBootstrapDataProvider"
        ),
    }
    return replace(shape, bootstrap=more)


def lay_down(folder: Path, shape: Shape, rows: pa.Table) -> None:
    """The rows as a dataset: two files of several row groups in each folder."""
    parts: list[tuple[Path, pa.Table]] = [(folder, rows)]
    for name in shape.partitions:
        parts = [
            (path / _name_of(shape, name, value), part.filter(_is(part.column(name), value)))
            for path, part in parts
            for value in PARTITION_COLUMNS[name][1]
        ]
    for path, part in parts:
        if part.num_rows:
            _write_files(path, part)


def _is(column: pa.ChunkedArray, value: object) -> pa.ChunkedArray:
    return pc.is_null(column) if value is None else pc.equal(column, pa.scalar(value, column.type))


def _name_of(shape: Shape, name: str, value: object) -> str:
    text = "__HIVE_DEFAULT_PARTITION__" if value is None else str(value)
    if shape.creation[f"{WRITE}partitionpath.urlencode"] == "true":
        text = escape(text)
    return f"{name}={text}" if shape.is_hive_style else text


def _write_files(folder: Path, rows: pa.Table) -> None:
    folder.mkdir(parents=True)
    count = min(FILES, rows.num_rows)
    for number in range(count):
        start, end = (rows.num_rows * each // count for each in (number, number + 1))
        path = folder / f"part-{number}.parquet"
        pq.write_table(rows.slice(start, end - start), path, row_group_size=ROWS_IN_A_GROUP)
