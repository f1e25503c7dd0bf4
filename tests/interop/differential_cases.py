"""Random operations on a random table: everything follows from a seed."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

import pyarrow as pa

from tests.interop.differential_bootstraps import with_bootstrap
from tests.interop.differential_rows import (
    COLUMNS,
    KEY_COLUMNS,
    ORDERING_COLUMNS,
    PARTITION_COLUMNS,
    maybe,
)
from tests.interop.differential_services import Past
from tests.interop.differential_shapes import (
    EVERY_KIND,
    SOFT_DELETE,
    WRITE,
    Shape,
    draw_shape,
    with_log_compactions,
    with_logs,
    with_retention,
)
from tests.interop.differential_steps import ENGINES, Changes, Step, Turn

STEPS = 30
# How often each kind of operation is drawn; the first write is one of FIRST.
FIRST = ("insert", "bulk_insert", "upsert")
WEIGHTS = {"upsert": 6, "insert": 1, "bulk_insert": 1, "delete": 2}
if EVERY_KIND:
    WEIGHTS.update(
        insert_overwrite=1, insert_overwrite_table=1, delete_partition=1, evolve=1, lack=1
    )
PROMOTIONS = {pa.int32(): pa.int64(), pa.float32(): pa.float64()}

Identity = tuple[tuple[Any, ...], tuple[Any, ...]]
Drawn = dict[str, Any]


@dataclass(frozen=True)
class Case:
    """What one seed stands for."""

    seed: int
    version: str
    shape: Shape
    steps: tuple[Turn, ...]
    changes: tuple[Changes | None, ...]
    """What changes are asked for after each step."""


def case_of(seed: int, steps: int = STEPS, *, is_bootstrapped: bool = False) -> Case:
    """The table and the operations that follow from a seed; a bootstrap first where asked for."""
    rng = Random(seed)
    version = "0.15.0" if rng.random() < 0.25 else "1.1.1"
    shape = with_logs(Random(f"logs {seed}"), draw_shape(rng, version))
    shape = with_log_compactions(Random(f"log compactions {seed}"), shape)
    shape = with_retention(Random(f"retention {seed}"), shape)
    shape = with_bootstrap(Random(f"dataset {seed}"), shape, is_asked=is_bootstrapped)
    player = _Player(rng, shape)
    drawn = tuple(player.steps(steps))
    return Case(seed, version, shape, drawn, tuple(player.changes))


class _Player:
    """Draws one operation after the other, and remembers the keys and ticks it has used."""

    def __init__(self, rng: Random, shape: Shape) -> None:
        self.rng, self.shape, self.schema = rng, shape, shape.schema
        self.used: dict[Identity, int] = {}
        self.clock = 100
        self.past = Past(shape.bounds)
        self.names: dict[int, str] = {}
        self.changes: list[Changes | None] = []

    def steps(self, count: int) -> Iterator[Turn]:
        """So many operations and services; the first makes the table."""
        for number in range(count):
            self.clock += 10
            writes = WEIGHTS if number else dict.fromkeys(FIRST, 1)
            services = self.past.weights()
            weights = {**writes, **services}
            (name,) = self.rng.choices(tuple(weights), tuple(weights.values()))
            if not number and self.shape.bootstrap is not None:
                yield self._write("bootstrap", number)
            elif name in services:
                yield self.past.serve(self.rng, name, self.upsert)
            else:
                yield self._write(name, number)
            # What changed is read with the columns of now, and compared with the rows of then.
            self.changes.append(self.past.changes(self.rng, can_end=not EVERY_KIND))

    def _write(self, name: str, number: int) -> Step:
        fails_after_bulk = self.shape.keeps_logs and self.shape.version != "0.15.0"
        before = self.names[self.past.live[-1]] if self.past.live else ""
        # See known_differences.NOT_DRAWN.
        if fails_after_bulk and (before, name) == ("bulk_insert", "delete"):
            name = "upsert"
        self.names[number] = name
        self.past.wrote()
        kinds: dict[str, Callable[[], Step]] = {
            each: getattr(self, each) for each in (*WEIGHTS, "bootstrap")
        }
        return kinds[name]()

    def upsert(self) -> Step:
        """Known and new keys, late ones and several records of one key among them."""
        known = self._known(self.rng.randint(0, 12))
        moved = [(key, self._partition()) for key, _ in self._known(self.rng.choice((0, 0, 2)))]
        fresh = self._new(self.rng.randint(0 if known else 1, 6))
        rows = self._with_rivals(self._rows([*known, *moved, *fresh]))
        for row in rows if SOFT_DELETE in self.schema.names else ():
            row[SOFT_DELETE] = maybe(self.rng, self.rng.random() < 0.15, 0.1)
        return self._step("upsert", rows)

    def insert(self) -> Step:
        """New keys, and in some batches known ones, which insert does not look up."""
        options = {}
        has_known = not self.shape.is_global and self.rng.random() < 0.3
        again = self._known(self.rng.randint(0, 3)) if has_known else []
        # See known_differences.NOT_DRAWN.
        again = [] if self.shape.keeps_logs or self.shape.version != "0.15.0" else again
        rows = self._rows([*again, *self._new(self.rng.randint(1, 15))])
        if self.rng.random() < 0.3:
            options["hoodie.combine.before.insert"] = "true"
            rows = self._with_rivals(rows)
        return self._step("insert", rows, options)

    def bulk_insert(self) -> Step:
        """New keys."""
        mode = self.rng.choice(("NONE", "GLOBAL_SORT", "PARTITION_SORT"))
        rows = self._rows(self._new(self.rng.randint(1, 15)))
        for row in rows if self.shape.version == "0.15.0" else ():
            # See known_differences.NOT_DRAWN.
            row.update((name, None) for name in ("tags", "points") if name in row)
        return self._step("bulk_insert", rows, {"hoodie.bulkinsert.sort.mode": mode})

    def bootstrap(self) -> Step:
        """A dataset, in files outside the table."""
        fresh = self._new(self.rng.randint(12, 30))
        # See known_differences.NOT_DRAWN.
        valued = [each for each in fresh if None not in each[1] or not self.shape.is_hive_style]
        rows = self._rows(valued or [(self._key(), ("asia",))])
        return self._step("bootstrap", rows, self.shape.bootstrap)

    def delete(self) -> Step:
        """Known keys, and some that are nowhere."""
        known = self._known(self.rng.randint(1, 8))
        return self._step("delete", self._rows([*known, *self._new(self.rng.randrange(3))]))

    def insert_overwrite(self) -> Step:
        """Rows that replace whatever their partitions hold."""
        return self._step("insert_overwrite", self._rows(self._mixed()))

    def insert_overwrite_table(self) -> Step:
        """Rows that replace whatever the table holds."""
        return self._step("insert_overwrite_table", self._rows(self._mixed()))

    def delete_partition(self) -> Step:
        """Partitions by the rows of a batch, or by their paths."""
        rows = self._rows(self._known(1) or self._new(1))
        options = {}
        if self.shape.partitions == ("region",) and self.rng.random() < 0.5:
            start = "region=" if self.shape.is_hive_style else ""
            options[f"{WRITE}partitions.to.delete"] = start + self.rng.choice(("asia", "a*"))
        return self._step("delete_partition", rows, options)

    def evolve(self) -> Step:
        """An upsert whose rows have a new column, or one of a wider type."""
        unused = [name for name in COLUMNS if name not in self.schema.names]
        narrow = [f.name for f in self.schema if f.type in PROMOTIONS and f.name in COLUMNS]
        if narrow and (not unused or self.rng.random() < 0.4):
            place = self.schema.get_field_index(self.rng.choice(narrow))
            before = self.schema.field(place)
            self.schema = self.schema.set(place, before.with_type(PROMOTIONS[before.type]))
        elif unused:
            name = self.rng.choice(unused)
            place = self.rng.choice((len(self.schema), self.rng.randint(0, len(self.schema))))
            self.schema = self.schema.insert(place, pa.field(name, COLUMNS[name][0]))
        return self.upsert()

    def lack(self) -> Step:
        """An upsert whose rows lack a column that the table has."""
        step = self.upsert()
        spare = [name for name in step.rows.column_names if name in COLUMNS]
        rows = step.rows.drop_columns(self.rng.choice(spare))
        return Step("upsert", rows, step.by, {"hoodie.write.set.null.for.missing.columns": "true"})

    def _mixed(self) -> list[Identity]:
        again = [] if self.shape.is_global else self._known(self.rng.randint(0, 3))
        return [*again, *self._new(self.rng.randint(1, 8))]

    def _step(
        self, operation: str, rows: list[Drawn], options: Mapping[str, str] | None = None
    ) -> Step:
        rows = rows or self._rows(self._known(1))
        self.rng.shuffle(rows)
        table = pa.Table.from_pylist(rows, schema=self.schema)
        return Step(operation, table, self.rng.choice(ENGINES), options or {})

    def _known(self, count: int) -> list[Identity]:
        return self.rng.sample(tuple(self.used), min(count, len(self.used)))

    def _new(self, count: int) -> list[Identity]:
        """Identities that no step has used; with a global index keys that none has."""
        keys = {key for key, _ in self.used} if self.shape.is_global else ()
        fresh = {self._key(): self._partition() for _ in range(count)}
        found = [(key, part) for key, part in fresh.items() if key not in keys]
        return [identity for identity in found if identity not in self.used]

    def _key(self) -> tuple[Any, ...]:
        return tuple(KEY_COLUMNS[name][1](self.rng) for name in self.shape.keys)

    def _partition(self) -> tuple[Any, ...]:
        return tuple(self.rng.choice(PARTITION_COLUMNS[name][1]) for name in self.shape.partitions)

    def _rows(self, identities: list[Identity]) -> list[Drawn]:
        if self.shape.is_global:
            identities = list(dict(identities).items())
        return [self._row(each, self._tick(each)) for each in dict.fromkeys(identities)]

    def _tick(self, identity: Identity) -> int:
        before = self.used.get(identity, self.clock)
        late = before - self.rng.randint(1, 9)
        tick = self.rng.choice((self.clock, self.clock, self.clock, before, late))
        return tick if self.shape.has_late_rows else max(tick, before)

    def _row(self, identity: Identity, tick: int) -> Drawn:
        self.used[identity] = max(tick, self.used.get(identity, tick))
        row: Drawn = dict.fromkeys(self.schema.names)
        row.update(zip(self.shape.keys, identity[0], strict=True))
        row.update(zip(self.shape.partitions, identity[1], strict=True))
        if self.shape.ordering:
            row[self.shape.ordering] = ORDERING_COLUMNS[self.shape.ordering][1](tick)
        for name in self.schema.names:
            if name in COLUMNS:
                row[name] = maybe(self.rng, COLUMNS[name][1](self.rng))
        if SOFT_DELETE in row:
            row[SOFT_DELETE] = False
        return row

    def _with_rivals(self, rows: list[Drawn]) -> list[Drawn]:
        """Some keys a second time, always with another ordering value: a tie has no winner."""
        if not self.shape.has_rivals or self.rng.random() < 0.6:
            return rows
        rivals = []
        for row in self.rng.sample(rows, min(3, len(rows))):
            key = tuple(row[name] for name in self.shape.keys)
            identity = (key, tuple(row[name] for name in self.shape.partitions))
            rivals.append(self._row(identity, self.clock + self.rng.randint(1, 5)))
        return rows + rivals
