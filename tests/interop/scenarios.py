"""The kinds of table that pass back and forth, and the rows that go into them."""

import datetime as dt
import decimal
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa

from tests.interop.model import TableModel

UTC = dt.timezone.utc
Maker = Callable[[int, int], dict[str, Any]]

ORDERS = pa.schema(
    [
        ("id", pa.string()),
        ("line", pa.int32()),
        ("region", pa.string()),
        ("day", pa.date32()),
        ("price", pa.decimal128(12, 2)),
        ("note", pa.string()),
        ("ts", pa.int64()),
    ]
)
REGIONS = ("africa", "asia", "europe")
# An empty value is left out: it shares the folder of null, and readers disagree which it was.
ODD_LABELS = ("a b", "50%", "x=y", "c/d", "e:f", "späße", "日本", "[g]", "#?*", None)

POINT = pa.struct([("x", pa.float64()), ("at", pa.timestamp("us", tz="UTC"))])
TYPES = pa.schema(
    [
        ("id", pa.string()),
        ("ts", pa.int64()),
        ("region", pa.string()),
        ("c_bool", pa.bool_()),
        ("c_int", pa.int32()),
        ("c_long", pa.int64()),
        ("c_float", pa.float32()),
        ("c_double", pa.float64()),
        ("c_small_decimal", pa.decimal128(9, 2)),
        ("c_whole_decimal", pa.decimal128(18, 0)),
        ("c_wide_decimal", pa.decimal128(38, 10)),
        ("c_string", pa.string()),
        ("c_binary", pa.binary()),
        ("c_date", pa.date32()),
        ("c_timestamp", pa.timestamp("us", tz="UTC")),
        ("c_list", pa.list_(pa.int32())),
        ("c_list_of_structs", pa.list_(pa.struct([("a", pa.int32()), ("b", pa.string())]))),
        ("c_map", pa.map_(pa.string(), pa.int64())),
        ("c_map_of_structs", pa.map_(pa.string(), POINT)),
        (
            "c_struct",
            pa.struct([("a", pa.int32()), ("inner", POINT), ("l", pa.list_(pa.string()))]),
        ),
    ]
)
LOCAL_TIMES = pa.schema([("id", pa.string()), ("ts", pa.int64()), ("c_local", pa.timestamp("us"))])


def order(number: int, generation: int) -> dict[str, Any]:
    """One row of ORDERS; a later generation changes what is not key or partition."""
    return {
        "id": f"order-{number // 2:04d}" if number % 7 else f"bestellung-ß-{number // 2}",
        "line": number % 2,
        "region": REGIONS[number % 3],
        "day": dt.date(2026, 1, 1 + number % 2),
        "price": decimal.Decimal(number * 100 + generation) / 100,
        "note": None if number % 5 == 0 else f"generation {generation}",
        "ts": generation * 1000 + number % 3,
    }


def single(number: int, generation: int) -> dict[str, Any]:
    """A row of ORDERS whose id alone is the key."""
    return {**order(number, generation), "id": f"order:{number},{number % 3}"}


def odd_partition(number: int, generation: int) -> dict[str, Any]:
    """A row of ORDERS in a partition whose value needs care."""
    return {**single(number, generation), "region": ODD_LABELS[number % len(ODD_LABELS)]}


def every_type(number: int, generation: int) -> dict[str, Any]:
    """A row of TYPES; every seventh has nulls only."""
    row: dict[str, Any] = dict.fromkeys(TYPES.names)
    row.update(id=f"k{number}", ts=generation * 1000 + number, region=REGIONS[number % 3])
    if number % 7 == 3:
        return row
    at = dt.datetime(1969, 7, 20, 20, 17, 40, 123456, UTC) + dt.timedelta(days=97 * number)
    point = {"x": number / 3, "at": at}
    row.update(
        c_bool=number % 2 == 0,
        c_int=(-(2**31), 2**31 - 1, number)[number % 3],
        c_long=(-(2**63), 2**63 - 1, number * generation)[number % 3],
        c_float=(float("nan"), float("-inf"), -0.0, number + 0.1)[number % 4],
        c_double=(float("inf"), 1e-300, float("nan"), number + generation / 7)[number % 4],
        c_small_decimal=decimal.Decimal(f"{-number}.{generation:02d}"),
        c_whole_decimal=decimal.Decimal("-999999999999999999") + number,
        c_wide_decimal=decimal.Decimal("1234567890123456789012345678.0123456789") - number,
        c_string=("", "späße 日本 🎈", "x" * number)[number % 3],
        c_binary=bytes([0, 255, number, generation]) if number % 2 else b"",
        c_date=dt.date(1883, 11, 18) + dt.timedelta(days=1000 * number),
        c_timestamp=at,
        c_list=list(range(number % 4)),
        c_list_of_structs=[{"a": i or None, "b": f"b{i}"} for i in range(number % 3)],
        c_map={f"m{i}": i * number for i in range(number % 3)}.items(),
        c_map_of_structs={"p": point, "ü": {"x": None, "at": None}}.items(),
        c_struct={"a": number, "inner": point if number % 2 else None, "l": ["é"] * (number % 3)},
    )
    row["c_map"], row["c_map_of_structs"] = list(row["c_map"]), list(row["c_map_of_structs"])
    return row


def local_time(number: int, generation: int) -> dict[str, Any]:
    """A row of LOCAL_TIMES."""
    at = dt.datetime(1960, 2, 29, 1, 2, 3, 4) + dt.timedelta(days=500 * number)  # noqa: DTZ001
    return {"id": f"k{number}", "ts": generation, "c_local": at if number % 4 else None}


@dataclass(frozen=True)
class Scenario:
    """One kind of table: schema, keys, partitions, first operation, further options."""

    name: str
    keys: tuple[str, ...] = ("id",)
    partitions: tuple[str, ...] = ()
    ordering: str | None = "ts"
    operation: str = "insert"
    schema: pa.Schema = ORDERS
    make: Maker = single
    more: Mapping[str, str] = field(default_factory=dict)
    # "parquet": the source is Parquet files; "rows": a data frame that Spark computed.
    source: str = "parquet"

    @property
    def options(self) -> dict[str, str]:
        """Hudi's writer options for this table."""
        options = {
            "hoodie.table.name": self.name,
            "hoodie.datasource.write.recordkey.field": ",".join(self.keys),
            "hoodie.datasource.write.partitionpath.field": ",".join(self.partitions),
            "hoodie.write.table.version": "6",
            **self.more,
        }
        if self.ordering:
            options["hoodie.datasource.write.precombine.field"] = self.ordering
        return options

    def batch(self, numbers: Iterable[int], generation: int) -> pa.Table:
        """Rows of a generation."""
        return pa.Table.from_pylist([self.make(n, generation) for n in numbers], schema=self.schema)

    def model(self) -> TableModel:
        """An empty model of the table."""
        return TableModel(self.schema, self.keys, self.partitions, self.ordering)


def _bulk(sort_mode: str) -> dict[str, str]:
    return {"hoodie.bulkinsert.sort.mode": sort_mode}


HIVE = {"hoodie.datasource.write.hive_style_partitioning": "true"}
ENCODED = {"hoodie.datasource.write.partitionpath.urlencode": "true"}

SCENARIOS = (
    Scenario("nonpartitioned"),
    Scenario("bulk_unsorted", partitions=("region",), operation="bulk_insert", more=_bulk("NONE")),
    Scenario(
        "complex_key_sorted",
        keys=("id", "line"),
        partitions=("region",),
        operation="bulk_insert",
        make=order,
        more=_bulk("GLOBAL_SORT"),
        source="rows",
    ),
    Scenario(
        "two_hive_partitions",
        keys=("id", "line"),
        partitions=("region", "day"),
        operation="bulk_insert",
        make=order,
        more={**_bulk("PARTITION_SORT"), **HIVE},
    ),
    Scenario("single_key_two_partitions", partitions=("region", "line"), source="rows"),
    Scenario(
        "odd_partitions_encoded",
        partitions=("region",),
        operation="upsert",
        make=odd_partition,
        more={**HIVE, **ENCODED},
    ),
    Scenario("every_type", partitions=("region",), schema=TYPES, make=every_type),
    Scenario(
        "every_type_bulk",
        partitions=("region",),
        operation="bulk_insert",
        schema=TYPES,
        make=every_type,
        source="rows",
    ),
    Scenario("local_times", schema=LOCAL_TIMES, make=local_time),
    Scenario("commit_time_ordering", partitions=("region",), ordering=None, operation="upsert"),
)
