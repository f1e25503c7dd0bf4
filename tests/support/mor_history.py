"""Merge-on-read tables with random histories, and a plain model of what is in them."""

import random
from dataclasses import dataclass, field
from pathlib import Path

from tests.support.log_files import avro_block, delete_block, rollback_block
from tests.support.mor_table import COMMIT_TIME, EVENT_TIME, SCHEMA, MorTable, Row, moment, records

KEYS = "abcdefgh"
GONE = "gone"
Record = Row | str


@dataclass
class Model:
    """A file group as Hudi reads it: base rows, then log records, each by key."""

    payload: str
    base: dict[str, Row] = field(default_factory=dict)
    log: dict[str, Record] = field(default_factory=dict)

    def join(self, before: Row, after: Row) -> Row:
        """Two rows of a key, the later second."""
        if self.payload == COMMIT_TIME:
            return after
        upper, lower = (before, after) if before[1] > after[1] else (after, before)
        if self.payload == EVENT_TIME:
            return upper
        return upper[0], upper[1], upper[2] if upper[2] is not None else lower[2]

    def write(self, rows: list[Row], deleted: list[str]) -> None:
        for row in rows:
            known = self.log.get(row[0], GONE)
            self.log[row[0]] = row if known == GONE else self.join(known, row)
        self.log |= dict.fromkeys(deleted, GONE)

    def read(self) -> dict[str, Row]:
        found: dict[str, Record] = dict(self.base)
        for key, record in self.log.items():
            stored = self.base.get(key)
            found[key] = record if record == GONE or stored is None else self.join(stored, record)
        return {key: row for key, row in found.items() if row != GONE}

    def compact(self) -> None:
        self.base, self.log = self.read(), {}


def random_rows(chance: random.Random) -> list[Row]:
    keys = chance.sample(KEYS, chance.randint(1, 5))
    return [(key, chance.randint(0, 9), chance.choice([None, "x", "y", "z"])) for key in keys]


class History:
    """A table that is written at random, and the model of it."""

    def __init__(self, chance: random.Random, payload: str, path: Path) -> None:
        self.chance, self.model = chance, Model(payload)
        self.table = MorTable.make(path, hoodie_compaction_payload_class=payload)
        self.states: dict[str, dict[str, Row]] = {}
        self.slice_instant, self.versions = "A", 0
        if chance.random() < 0.7:
            self.model.base = {row[0]: row for row in random_rows(chance)}
            self.table.base("f", "A", records("A", *self.model.base.values()))
        self.table.instant("A")

    def compact(self, time: str) -> None:
        """Plan a compaction, and perhaps run it."""
        is_done = self.chance.random() < 0.5
        self.table.instant(time, "commit" if is_done else "compaction.requested")
        if is_done:
            self.model.compact()
            self.table.base("f", time, records("A", *self.model.base.values()))
        self.slice_instant = time
        self.states[time] = self.model.read()

    def write(self, time: str) -> None:
        """Append a log file, in a write that may fail."""
        rows = random_rows(self.chance)
        gone = self.chance.sample(KEYS, self.chance.choice([0, 0, 1, 3]))
        blocks = [avro_block(moment(time), records(time, *rows), SCHEMA)]
        if gone:
            blocks.append(delete_block(moment(time), *gone))
        fate = self.chance.choice(["committed"] * 4 + ["died", "torn", "rolled back"])
        if fate == "rolled back":
            blocks.append(rollback_block(moment("Z"), moment(time)))
        if fate == "torn":
            blocks[-1] = blocks[-1][: self.chance.randrange(len(blocks[-1]))]
        self.versions += 1
        self.table.log("f", self.slice_instant, *blocks, version=self.versions)
        if fate == "committed":
            self.table.instant(time)
            self.model.write(rows, gone)
            self.states[time] = self.model.read()
