"""What a run is: the table, who writes it, what befalls them; a value that processes read."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

ORDER = "rival.order"
"""Under this key a commit says by which order it was made."""
_SHARED = {
    "hoodie.table.name": "rivals",
    "hoodie.datasource.write.recordkey.field": "id",
    "hoodie.datasource.write.partitionpath.field": "part",
    "hoodie.datasource.write.precombine.field": "ts",
    "hoodie.datasource.write.commitmeta.key.prefix": "rival.",
    "hoodie.metadata.enable": "false",
    "hoodie.write.concurrency.mode": "OPTIMISTIC_CONCURRENCY_CONTROL",
    "hoodie.client.heartbeat.interval_in_ms": "2000",
    "hoodie.client.heartbeat.tolerable.misses": "3",
    "hoodie.clean.commits.retained": "12",
    "hoodie.keep.min.commits": "16",
    "hoodie.keep.max.commits": "24",
    # All processes have the clock of one machine.
    "hoodie.time.generator.max_expected_clock_skew_ms": "2",
    "hoodie.write.lock.client.wait_time_ms_between_retry": "500",
}
_OURS = {
    # A bloom filter of usual size takes 400 KB of every file.
    "hoodie.index.bloom.num_entries": "100",
    "hoodie.clean.automatic": "false",
    "hoodie.archive.automatic": "false",
    "hoodie.compact.inline.max.delta.commits": "1",
}
_HUDIS = {
    "hoodie.clean.automatic": "false",
    "hoodie.archive.automatic": "false",
    "hoodie.index.type": "SIMPLE",
    # Hudi below 1.2 shows nobody that it runs a compaction, so that one side alone may.
    "hoodie.compact.inline": "false",
    "hoodie.write.num.retries.on.conflict.failures": "3",
}
_PACKAGE = "org.apache.hudi.client.transaction.lock"
_LOCKS = {
    "local": {
        "hoodie.write.lock.provider": f"{_PACKAGE}.FileSystemBasedLockProvider",
        "hoodie.write.lock.filesystem.expire": "1",
    },
    "s3": {
        "hoodie.write.lock.provider": f"{_PACKAGE}.StorageBasedLockProvider",
        "hoodie.write.lock.storage.validity.timeout.secs": "10",
        "hoodie.write.lock.storage.renew.interval.secs": "1",
    },
}
LEASE_S = {"local": 60.0, "s3": 10.0}
HEARTBEAT_S = 6.0


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A run. ``folder`` has the notes of its processes, ``seen`` the table as this machine sees it.

    ``spark`` of the ``writers`` have Spark as their runner; ``hudi`` is the release of real Hudi
    that one more process writes with, or empty. ``kill_every_s`` and ``stop_every_s`` say how often
    some writer is killed or stopped, 0 for never; ``stops_s`` for how long. ``fault_chance`` is the
    share of requests that meet a fault of each kind. ``unchecked`` takes the look for conflicts out
    of the writers, which a checker has to notice; ``narrow`` lets all of them write one partition.
    """

    folder: str
    uri: str
    seen: str
    storage: str = "local"
    storage_options: Mapping[str, str] = field(default_factory=dict, repr=False)
    table_type: str = "COPY_ON_WRITE"
    writers: int = 8
    spark: int = 0
    readers: int = 1
    hudi: str = ""
    seconds: float = 600.0
    seed: int = 0
    kill_every_s: float = 12.0
    stop_every_s: float = 25.0
    stops_s: tuple[float, ...] = (8.0, 14.0)
    fault_chance: float = 0.0
    unchecked: bool = False
    narrow: bool = False

    @property
    def shared_options(self) -> dict[str, str]:
        """Options of all who write, real Hudi among them."""
        table_type = {"hoodie.datasource.write.table.type": self.table_type}
        return {**_SHARED, **_LOCKS[self.storage], **table_type}

    @property
    def options(self) -> dict[str, str]:
        """Options of the writers of this engine."""
        return {**self.shared_options, **_OURS}

    @property
    def hudis_options(self) -> dict[str, str]:
        """Options of the writes of real Hudi."""
        return {**self.shared_options, **_HUDIS}

    @property
    def is_logged(self) -> bool:
        """Whether updates go to log files."""
        return self.table_type == "MERGE_ON_READ"

    @property
    def path(self) -> Path:
        """The file of the plan."""
        return Path(self.folder) / "plan.json"

    def notes(self, name: str) -> Path:
        """The file of what a process notes."""
        return Path(self.folder) / f"{name}.notes"

    def begin(self) -> float:
        """Tell the processes that the time runs from here on."""
        began = time.monotonic()
        self._begun.with_suffix(".new").write_text(repr(began), encoding="utf-8")
        self._begun.with_suffix(".new").replace(self._begun)
        return began

    def began(self) -> float:
        """When the run began, on the clock that nobody sets; waits until it has."""
        while not self._begun.exists():
            time.sleep(0.01)
        return float(self._begun.read_text(encoding="utf-8"))

    @property
    def _begun(self) -> Path:
        return Path(self.folder) / "begun"

    def save(self) -> None:
        """Write the plan where its processes find it."""
        self.path.write_text(json.dumps(asdict(self)), encoding="utf-8")

    @classmethod
    def load(cls, path: Path) -> Plan:
        """The plan of a file."""
        found = json.loads(path.read_text(encoding="utf-8"))
        return cls(**{**found, "stops_s": tuple(found["stops_s"])})
