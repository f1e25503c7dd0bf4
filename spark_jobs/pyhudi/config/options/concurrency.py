"""Whether several may write a table at once, and what they do about it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from pyhudi.config import option
from pyhudi.config.option import declare, part, read_settings, setting
from pyhudi.config.options.files import WaitConfig
from pyhudi.config.options.index import INDEX_TYPE, IndexType
from pyhudi.config.options.locks import PROVIDER, LockConfig, LockProvider
from pyhudi.errors import OptionError, UnsupportedError

_PACKAGE = "org.apache.hudi.client.transaction."
_SKEW_MS = 200
_SKEW_IN_PROCESS_MS = 1


class ConcurrencyMode(Enum):
    """Whether writers keep each other out, or go on at once and look for conflicts.

    Source: WriteConcurrencyMode, Hudi 0.15 to 1.2.
    """

    SINGLE_WRITER = "SINGLE_WRITER"
    OPTIMISTIC = "OPTIMISTIC_CONCURRENCY_CONTROL"


class ConflictStrategy(Enum):
    """What a conflict is, by the Java class that Hudi has for it.

    Source: the package org.apache.hudi.client.transaction, Hudi 0.15 to 1.2.
    """

    SIMPLE = "SimpleConcurrentFileWritesConflictResolutionStrategy"
    PREFER_WRITER = "PreferWriterConflictResolutionStrategy"
    BUCKET = "BucketIndexConcurrentFileWritesConflictResolutionStrategy"


class ConflictUnit(Enum):
    """What two writes may not both change."""

    FILE_GROUP = "file_group"
    PARTITION = "partition"


def _mode(text: str) -> ConcurrencyMode:
    if text.upper() == "NON_BLOCKING_CONCURRENCY_CONTROL":
        raise UnsupportedError(
            f"{text!r}, which is not supported; take {ConcurrencyMode.OPTIMISTIC.value}"
        )
    return option.parse_enum(ConcurrencyMode)(text)


def _strategy(text: str) -> ConflictStrategy | None:
    known = {strategy.value: strategy for strategy in ConflictStrategy}
    name = text.removeprefix(_PACKAGE)
    if text and name not in known:
        if "." in text:
            raise UnsupportedError(
                f"{text!r}, a Java class of one's own, which cannot be run here; there are "
                f"{', '.join(known)}"
            )
        raise ValueError(f"{', '.join(known)}; they may have the package {_PACKAGE[:-1]}")
    return known[name] if text else None


_NO_STRATEGY: ConflictStrategy | None = None
_NO_SKEW: int | None = None
MODE = declare("hoodie.write.concurrency.mode", _mode, default=ConcurrencyMode.SINGLE_WRITER)
"""whether writers wait for each other, or write at once under a lock and lose only to those who
changed the same; all writers of a table must have the same mode, since one that is alone undoes
whatever others have not committed"""
STRATEGY = declare(
    "hoodie.write.lock.conflict.resolution.strategy", _strategy, default=_NO_STRATEGY
)
"""what a conflict is: SimpleConcurrentFileWritesConflictResolutionStrategy without it, and
BucketIndexConcurrentFileWritesConflictResolutionStrategy with the index BUCKET"""
CONFLICT_RETRIES = declare(
    "hoodie.write.num.retries.on.conflict.failures", option.parse_int, default=3
)
"""how often a write that met a conflict is done again from the lookup before it fails; 0 in Hudi"""
UNIT = declare(
    "pyhudi.write.conflict.unit",
    option.parse_enum(ConflictUnit),
    default=ConflictUnit.FILE_GROUP,
    since="pyhudi",
)
"""what two writes at once may not both change"""
EARLY = declare(
    "hoodie.write.concurrency.early.conflict.detection.enable", option.parse_bool, default=False
)
"""a write looks at the markers of earlier ones that live before it writes its files, so that a
conflict is met before the work is done and not only at the commit"""
EARLY_COMMITS = declare(
    "hoodie.write.concurrency.early.conflict.check.commit.conflict",
    option.parse_bool,
    default=False,
)
"""an early look for conflicts is at what was committed meanwhile too"""
SCHEMA_CHECK = declare(
    "hoodie.write.concurrency.schema.conflict.resolution.enable",
    option.parse_bool,
    default=True,
    since="1.0",
)
"""two writes at once may not both change the schema, unless they change it to the same"""
CLOCK_SKEW_MS = declare(
    "hoodie.time.generator.max_expected_clock_skew_ms",
    option.parse_int,
    default=_NO_SKEW,
    since="1.0",
)
"""milliseconds by which the clocks of writers may be apart before a warning; a timeline that is a
minute ahead is refused unless this is more. Instants are later than all on the timeline whatever
the clocks say; a commit to a table of version 8 or 9 waits for so long, as Hudi's do; 200 without
it, and 1 with InProcessLockProvider"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ConcurrencyConfig:
    """Whether a writer goes on beside others, and what it does about them.

    ``wait`` is for those who go on one after the other. ``conflict_retries`` counts tries after the
    first. ``resolves_schemas`` says whether a change of the schema by two at once is looked for.

    Units: ``clock_skew_ms`` in milliseconds.
    """

    mode: ConcurrencyMode = setting(MODE)
    lock: LockConfig = part(LockConfig)
    wait: WaitConfig = part(WaitConfig)
    strategy: ConflictStrategy = ConflictStrategy.SIMPLE
    unit: ConflictUnit = setting(UNIT)
    conflict_retries: int = setting(CONFLICT_RETRIES)
    looks_early: bool = setting(EARLY)
    looks_early_at_commits: bool = setting(EARLY_COMMITS)
    resolves_schemas: bool = setting(SCHEMA_CHECK)
    clock_skew_ms: int = _SKEW_MS

    @classmethod
    def from_options(cls, options: Mapping[str, str]) -> ConcurrencyConfig:
        """What options ask for.

        Raises:
            OptionError: a value that is not allowed, or several writers without a lock.
            UnsupportedError: a mode, lock or strategy that Hudi has and that is not done here.
        Source: HoodieWriteConfig.Builder, HoodieLockConfig, HoodieTimeGeneratorConfig, Hudi 1.1.
        """
        lock = LockConfig.from_options(options)
        in_process = lock.provider is LockProvider.IN_PROCESS
        skew_ms = CLOCK_SKEW_MS.read(options)
        if skew_ms is None:
            skew_ms = _SKEW_IN_PROCESS_MS if in_process else _SKEW_MS
        hashed = INDEX_TYPE.read(options) is IndexType.BUCKET
        strategy = STRATEGY.read(options) or (
            ConflictStrategy.BUCKET if hashed else ConflictStrategy.SIMPLE
        )
        found = read_settings(cls, options, lock=lock, strategy=strategy, clock_skew_ms=skew_ms)
        if found.is_optimistic and lock.provider is None:
            raise OptionError(
                f"{MODE.key} is {found.mode.value}, which needs a lock; set {PROVIDER.key} to "
                "FileSystemBasedLockProvider on a local disk or HDFS, or to "
                "StorageBasedLockProvider on an object store, for all writers of the table"
            )
        return found

    @property
    def is_optimistic(self) -> bool:
        """Whether writers go on at once, and look for conflicts when they commit."""
        return self.mode is ConcurrencyMode.OPTIMISTIC
