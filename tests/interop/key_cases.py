"""Tables whose keys and paths are made in every way there is, for Hudi and this engine alike."""

import datetime as dt
import decimal
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import pyarrow as pa

W = "hoodie.datasource.write."
TIME = "hoodie.keygen.timebased."
PACKAGE = "org.apache.hudi.keygen."
UTC = dt.timezone.utc

SCHEMA = pa.schema(
    [
        ("id", pa.string()),
        ("sub", pa.int32()),
        ("part", pa.string()),
        ("num", pa.int32()),
        ("day", pa.date32()),
        ("millis", pa.int64()),
        ("at", pa.timestamp("us", tz="UTC")),
        ("text", pa.string()),
        ("qty", pa.float64()),
        ("share", pa.float32()),
        ("amount", pa.decimal128(20, 4)),
        ("flag", pa.bool_()),
        ("ts", pa.int64()),
    ]
)


@dataclass(frozen=True)
class KeyCase:
    """One kind of table.

    ``stated`` are options that a table does not record, for every write. ``versions`` are those of
    Hudi that can write it. ``unlike`` are columns that Hudi reads otherwise than they were written,
    and `is_read` is false where Hudi cannot read what it wrote.
    """

    name: str
    keys: str = "id"
    partitions: str = "part"
    generator: str | None = None
    more: Mapping[str, str] = field(default_factory=dict)
    stated: Mapping[str, str] = field(default_factory=dict)
    versions: tuple[str, ...] = ("0.15.0", "1.1.1")
    unlike: tuple[str, ...] = ()
    is_read: bool = True
    has_keys: bool = True

    @property
    def options(self) -> dict[str, str]:
        """Everything a first write says."""
        found = {
            "hoodie.table.name": self.name,
            "hoodie.write.table.version": "6",
            "hoodie.metadata.enable": "false",
            f"{W}recordkey.field": self.keys,
            f"{W}partitionpath.field": self.partitions,
            f"{W}precombine.field": "ts",
            **self.more,
            **self.stated,
        }
        if self.generator:
            found[f"{W}keygenerator.class"] = f"{PACKAGE}{self.generator}"
        return found


def batch(numbers: Iterable[int], generation: int) -> pa.Table:
    """Rows by number; what is key or partition does not change with the generation."""
    rows = [
        {
            "id": f"k{n}" if n % 5 else f"k:{n},ü",
            "sub": n % 3,
            "part": ("north", "a b", None, "x=y", "é")[n % 5],
            "num": n % 2,
            "day": dt.date(1969, 12, 30) + dt.timedelta(days=n % 4),
            "millis": 1_700_000_000_000 + 40_000_000 * n if n % 6 else None,
            "at": dt.datetime(1969, 12, 31, 22, 0, 0, 123456, UTC) + dt.timedelta(hours=n % 4),
            "text": f"2024-0{1 + n % 3}-1{n % 2}" if n % 7 else None,
            "qty": (1.0, 1e-3, 1e7, 0.1, -2.5e-9)[n % 5],
            "share": (1.0, 3.4028234e38, 0.1)[n % 3],
            "amount": decimal.Decimal(n * 7919) / 10000 if n % 4 else decimal.Decimal("0.0000"),
            "flag": n % 2 == 0 if n % 3 else None,
            "ts": generation,
        }
        for n in numbers
    ]
    return pa.Table.from_pylist(rows, schema=SCHEMA)


HIVE = {f"{W}hive_style_partitioning": "true"}
ENCODED = {f"{W}partitionpath.urlencode": "true"}
BARE = {"hoodie.populate.meta.fields": "false"}
DROPPED = {f"{W}drop.partition.columns": "true"}
MONTHS = {
    f"{TIME}timestamp.type": "DATE_STRING",
    f"{TIME}input.dateformat": "yyyy/MM/dd,yyyy-MM-dd",
    f"{TIME}output.dateformat": "yyyy-MM",
}

CASES = (
    KeyCase(
        "millis_in_tokyo",
        partitions="millis",
        generator="TimestampBasedKeyGenerator",
        more={
            f"{TIME}timestamp.type": "EPOCHMILLISECONDS",
            f"{TIME}output.dateformat": "yyyy/MM/dd",
            f"{TIME}timezone": "Asia/Tokyo",
        },
        # Hudi 0.15 gives the text of the path.
        unlike=("millis",),
    ),
    KeyCase(
        "texts_of_kolkata",
        partitions="text",
        generator="TimestampBasedAvroKeyGenerator",
        more={
            **HIVE,
            **ENCODED,
            f"{TIME}timestamp.type": "DATE_STRING",
            f"{TIME}input.dateformat": "yyyy-MM-dd",
            f"{TIME}input.timezone": "Asia/Kolkata",
            f"{TIME}output.dateformat": "yyyy-MM-dd HH:mm Z",
            f"{TIME}output.timezone": "UTC",
        },
        unlike=("text",),
    ),
    KeyCase(
        "days",
        partitions="day",
        generator="TimestampBasedKeyGenerator",
        more={
            "hoodie.deltastreamer.keygen.timebased.timestamp.type": "SCALAR",
            "hoodie.deltastreamer.keygen.timebased.timestamp.scalar.time.unit": "DAYS",
            "hoodie.deltastreamer.keygen.timebased.output.dateformat": "xxxx'w'ww",
        },
        unlike=("day",),
        is_read=False,
    ),
    KeyCase(
        "micros",
        partitions="at",
        generator="TimestampBasedKeyGenerator",
        more={
            f"{TIME}timestamp.type": "EPOCHMICROSECONDS",
            f"{TIME}output.dateformat": "yyyyMMddHH",
        },
        versions=("1.1.1",),
        is_read=False,
    ),
    KeyCase(
        "custom_months",
        keys="id,sub",
        partitions="num:SIMPLE,text:timestamp",
        generator="CustomKeyGenerator",
        stated={f"{W}partitionpath.field": "num:SIMPLE,text:timestamp", **MONTHS},
        unlike=("text",),
    ),
    KeyCase(
        "custom_simple",
        partitions="part:simple,day:SIMPLE",
        generator="CustomAvroKeyGenerator",
        more={**HIVE, **ENCODED},
        stated={f"{W}partitionpath.field": "part:simple,day:SIMPLE"},
    ),
    KeyCase("global_delete", generator="GlobalDeleteKeyGenerator"),
    KeyCase(
        "every_type",
        keys="id,sub,num,day,millis,at,text,qty,share,amount,flag",
        partitions="part",
        generator="ComplexAvroKeyGenerator",
        more={**HIVE, **ENCODED},
    ),
    KeyCase(
        "logical_times",
        keys="id,at",
        partitions="day",
        more={f"{W}keygenerator.consistent.logical.timestamp.enabled": "true"},
        stated={f"{W}keygenerator.consistent.logical.timestamp.enabled": "true"},
    ),
    KeyCase("dropped", keys="id,sub", partitions="part,num", more={**DROPPED, **HIVE, **ENCODED}),
    # Hudi takes "x=y" of a path for the value y of a column x.
    KeyCase("bare", more=BARE, has_keys=False, unlike=("part",)),
    KeyCase("bare_complex", keys="id,sub", partitions="num,day", more=BARE, has_keys=False),
)
