"""Which lock of a table a writer takes, and how long it waits for it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from pyhudi.config import option
from pyhudi.config.option import declare, read_settings, setting
from pyhudi.errors import OptionError, UnsupportedError


class LockProvider(Enum):
    """Where the lock of a table lies, by the Java class that Hudi has for it.

    Source: the package org.apache.hudi.client.transaction.lock, Hudi 0.15 to 1.2.
    """

    FILE_SYSTEM = "FileSystemBasedLockProvider"
    STORAGE = "StorageBasedLockProvider"
    IN_PROCESS = "InProcessLockProvider"


_PACKAGE = "org.apache.hudi.client.transaction.lock."
_INSTEAD = (
    "FileSystemBasedLockProvider on a local disk or HDFS, StorageBasedLockProvider on an object "
    "store"
)
_ELSEWHERE = {
    "ZookeeperBasedLockProvider": "ZooKeeper",
    "ZookeeperBasedImplicitBasePathLockProvider": "ZooKeeper",
    "DynamoDBBasedLockProvider": "DynamoDB",
    "DynamoDBBasedImplicitPartitionKeyLockProvider": "DynamoDB",
    "HiveMetastoreBasedLockProvider": "the Hive metastore",
    "NoopLockProvider": "nothing",
}
"""Hudi's other providers, and what they lock in."""
_LEAST_VALIDITY_S = 10
_RENEWALS = 10
"""How many renewals a lease must have room for.

Source: StorageBasedLockConfig.Builder.validate, Hudi 1.1.
"""


def _provider(text: str) -> LockProvider | None:
    name = text.rpartition(".")[2]
    if name in _ELSEWHERE:
        raise UnsupportedError(
            f"{text!r}, a lock in {_ELSEWHERE[name]}, which is not supported; for all writers of "
            f"the table take {_INSTEAD}"
        )
    known = {provider.value: provider for provider in LockProvider}
    if text and text.removeprefix(_PACKAGE) not in known:
        raise ValueError(f"{', '.join(known)}; they may have the package {_PACKAGE[:-1]}")
    return known[name] if text else None


def _schemes(text: str) -> tuple[str, ...]:
    return tuple(name.strip().lower() for name in text.split(",") if name.strip())


_NO_PROVIDER: LockProvider | None = None
_NO_SCHEMES: tuple[str, ...] = ()
PROVIDER = declare("hoodie.write.lock.provider", _provider, default=_NO_PROVIDER)
"""the lock that writers take for the moments in which they begin and commit, the same one for all
of them: a file that is created beside the timeline, a lease in an object store, or one that means
something in this process alone; Hudi 0.15 without it means ZooKeeper"""
WAIT_MS = declare("hoodie.write.lock.wait_time_ms", option.parse_positive, default=60_000)
"""milliseconds of the first try to take the lock"""
RETRIES = declare("hoodie.write.lock.client.num_retries", option.parse_int, default=50)
"""further tries to take the lock; all of them together last as long as the first and the waits
between them do"""
RETRY_WAIT_MS = declare(
    "hoodie.write.lock.client.wait_time_ms_between_retry", option.parse_int, default=5000
)
"""milliseconds between two tries to take the lock"""
FOLDER = declare("hoodie.write.lock.filesystem.path", option.parse_optional_text, default=None)
"""folder or URI in which the file system provider creates its file; the table's `.hoodie` without
it, and `.hoodie/.aux` for writers in Flink"""
EXPIRE_MINUTES = declare("hoodie.write.lock.filesystem.expire", option.parse_int, default=0)
"""minutes after which a lock file that nobody has touched is anybody's; 0 for never, so that one of
a process that died elsewhere has to be broken by hand; `pyhudi lock break` does"""
ATOMIC_SCHEMES = declare("hoodie.fs.atomic_creation.support", _schemes, default=_NO_SCHEMES)
"""schemes besides file and hdfs on which the file system provider may be used, separated by
commas"""
VALIDITY_S = declare(
    "hoodie.write.lock.storage.validity.timeout.secs",
    option.parse_positive,
    default=300,
    since="1.0",
)
"""seconds for which a lease in an object store holds, 10 at least and ten renewals long"""
RENEW_S = declare(
    "hoodie.write.lock.storage.renew.interval.secs",
    option.parse_positive,
    default=30,
    aliases=("hoodie.write.lock.storage.heartbeat.poll.secs",),
    since="1.0",
)
"""seconds after which a lease is renewed while it is held"""


@dataclass(frozen=True, slots=True, kw_only=True)
class LockConfig:
    """Which lock is taken, how long it is waited for, and when it is anybody's again.

    Units: as the names say; ``expire_minutes`` 0 is never.
    """

    provider: LockProvider | None = setting(PROVIDER)
    wait_ms: int = setting(WAIT_MS)
    retries: int = setting(RETRIES)
    retry_wait_ms: int = setting(RETRY_WAIT_MS)
    folder: str | None = setting(FOLDER)
    expire_minutes: int = setting(EXPIRE_MINUTES)
    atomic_schemes: tuple[str, ...] = setting(ATOMIC_SCHEMES)
    validity_s: int = setting(VALIDITY_S)
    renew_s: int = setting(RENEW_S)

    @classmethod
    def from_options(cls, options: Mapping[str, str]) -> LockConfig:
        """What options ask for.

        Raises:
            OptionError: a value that is not allowed, or a lease that is too short.
            UnsupportedError: a provider that Hudi has and that is not done here.
        Source: StorageBasedLockConfig.Builder.validate, Hudi 1.1.
        """
        found = read_settings(cls, options)
        least = max(_LEAST_VALIDITY_S, _RENEWALS * found.renew_s)
        if found.validity_s < least:
            raise OptionError(
                f"{VALIDITY_S.key} is {found.validity_s}, which must be {least} at least: ten "
                f"times {RENEW_S.key}, and no less than {_LEAST_VALIDITY_S}"
            )
        return found

    @property
    def patience_ms(self) -> int:
        """How long the lock is waited for in all.

        Units: milliseconds.
        """
        return self.wait_ms + self.retries * self.retry_wait_ms
