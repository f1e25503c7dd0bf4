"""Whether several writers may go on at once, and which lock they take."""

import pytest

from pyhudi.config.known import check_known
from pyhudi.config.options.clean import FailedWritesPolicy
from pyhudi.config.options.concurrency import (
    ConcurrencyConfig,
    ConcurrencyMode,
    ConflictStrategy,
    ConflictUnit,
)
from pyhudi.config.options.locks import LockConfig, LockProvider
from pyhudi.config.write import WriteConfig
from pyhudi.errors import OptionError, UnsupportedError

MODE = "hoodie.write.concurrency.mode"
PROVIDER = "hoodie.write.lock.provider"
STRATEGY = "hoodie.write.lock.conflict.resolution.strategy"
LOCKS = "org.apache.hudi.client.transaction.lock."
VALIDITY = "hoodie.write.lock.storage.validity.timeout.secs"
RENEW = "hoodie.write.lock.storage.renew.interval.secs"
FILE_LOCK = {PROVIDER: f"{LOCKS}FileSystemBasedLockProvider"}
SEVERAL = {MODE: "OPTIMISTIC_CONCURRENCY_CONTROL", **FILE_LOCK}
FAILED = "hoodie.clean.failed.writes.policy"


def test_one_writes_at_a_time_and_takes_no_lock_unless_options_say_otherwise() -> None:
    config = WriteConfig.from_options({}).concurrency
    assert config == ConcurrencyConfig()
    assert (config.mode, config.is_optimistic) == (ConcurrencyMode.SINGLE_WRITER, False)
    assert config.lock == LockConfig(provider=None)
    assert (config.lock.validity_s, config.lock.renew_s, config.lock.expire_minutes) == (300, 30, 0)
    assert (config.conflict_retries, config.unit) == (3, ConflictUnit.FILE_GROUP)
    assert config.clock_skew_ms == 200


def test_every_option_reaches_its_field() -> None:
    config = ConcurrencyConfig.from_options(
        {
            MODE: "Optimistic_Concurrency_Control",
            PROVIDER: f"{LOCKS}StorageBasedLockProvider",
            "hoodie.write.lock.wait_time_ms": "100",
            "hoodie.write.lock.client.num_retries": "2",
            "hoodie.write.lock.client.wait_time_ms_between_retry": "30",
            "hoodie.write.lock.filesystem.path": "/locks",
            "hoodie.write.lock.filesystem.expire": "4",
            "hoodie.fs.atomic_creation.support": "s3a, GS",
            VALIDITY: "20",
            "hoodie.write.lock.storage.heartbeat.poll.secs": "2",
            STRATEGY: "org.apache.hudi.client.transaction.PreferWriterConflictResolutionStrategy",
            "hoodie.write.num.retries.on.conflict.failures": "0",
            "pyhudi.write.conflict.unit": "partition",
            "hoodie.write.concurrency.early.conflict.detection.enable": "true",
            "hoodie.write.concurrency.early.conflict.check.commit.conflict": "true",
            "hoodie.write.concurrency.schema.conflict.resolution.enable": "false",
            "hoodie.time.generator.max_expected_clock_skew_ms": "7",
        }
    )
    assert config.is_optimistic
    assert config.lock == LockConfig(
        provider=LockProvider.STORAGE,
        wait_ms=100,
        retries=2,
        retry_wait_ms=30,
        folder="/locks",
        expire_minutes=4,
        atomic_schemes=("s3a", "gs"),
        validity_s=20,
        renew_s=2,
    )
    assert config.lock.patience_ms == 160
    assert (config.strategy, config.unit) == (
        ConflictStrategy.PREFER_WRITER,
        ConflictUnit.PARTITION,
    )
    assert (config.looks_early, config.looks_early_at_commits) == (True, True)
    assert (config.conflict_retries, config.resolves_schemas) == (0, False)
    assert config.clock_skew_ms == 7


def test_several_writers_without_a_lock_are_refused_with_the_locks_there_are() -> None:
    with pytest.raises(OptionError, match=f"{MODE} .* needs a lock; set {PROVIDER} to FileSystem"):
        WriteConfig.from_options({MODE: "optimistic_concurrency_control"})


def test_writers_at_once_do_not_undo_what_others_have_not_committed() -> None:
    def policy(options: dict[str, str]) -> FailedWritesPolicy:
        return WriteConfig.from_options(options).services.clean.failed_writes

    assert policy(FILE_LOCK) is FailedWritesPolicy.EAGER
    assert policy(SEVERAL) is policy({**SEVERAL, FAILED: "lazy"}) is FailedWritesPolicy.LAZY
    assert policy({**SEVERAL, FAILED: "NEVER"}) is FailedWritesPolicy.NEVER
    with pytest.raises(OptionError, match=f"{FAILED} is EAGER.*leave it out"):
        policy({**SEVERAL, "hoodie.cleaner.policy.failed.writes": "eager"})


def test_where_clocks_are_one_nobody_waits_for_them() -> None:
    assert ConcurrencyConfig.from_options({PROVIDER: "InProcessLockProvider"}).clock_skew_ms == 1


def test_buckets_conflict_by_their_number() -> None:
    hashed = {"hoodie.index.type": "BUCKET"}
    assert ConcurrencyConfig.from_options(hashed).strategy is ConflictStrategy.BUCKET
    simple = {STRATEGY: "SimpleConcurrentFileWritesConflictResolutionStrategy"}
    assert ConcurrencyConfig.from_options({**hashed, **simple}).strategy is ConflictStrategy.SIMPLE


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({MODE: "NON_BLOCKING_CONCURRENCY_CONTROL"}, "take OPTIMISTIC_CONCURRENCY_CONTROL"),
        ({PROVIDER: f"{LOCKS}ZookeeperBasedLockProvider"}, "a lock in ZooKeeper.*FileSystemBased"),
        (
            {PROVIDER: "org.apache.hudi.aws.transaction.lock.DynamoDBBasedLockProvider"},
            "a lock in DynamoDB.*StorageBasedLockProvider on an object store",
        ),
        (
            {PROVIDER: "org.apache.hudi.hive.transaction.lock.HiveMetastoreBasedLockProvider"},
            "a lock in the Hive metastore",
        ),
        ({STRATEGY: "org.x.Mine"}, "a Java class of one's own.*PreferWriterConflict"),
    ],
)
def test_what_hudi_has_and_is_not_done_is_refused_by_name(
    options: dict[str, str], said: str
) -> None:
    with pytest.raises(UnsupportedError, match=said):
        WriteConfig.from_options(options)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({MODE: "many"}, "SINGLE_WRITER, OPTIMISTIC_CONCURRENCY_CONTROL"),
        ({PROVIDER: "org.x.MyLock"}, "InProcessLockProvider; they may have the package"),
        ({STRATEGY: "Mine"}, "SimpleConcurrentFileWrites"),
        ({"hoodie.write.lock.wait_time_ms": "0"}, "a whole number greater than 0"),
        ({"hoodie.write.lock.filesystem.expire": "-1"}, "a whole number, 0 or greater"),
        ({VALIDITY: "9", RENEW: "1"}, f"{VALIDITY} is 9, which must be 10 at least"),
        ({VALIDITY: "20", RENEW: "3"}, f"{VALIDITY} is 20, which must be 30 at least"),
        ({"pyhudi.write.conflict.unit": "row"}, "file_group, partition"),
    ],
)
def test_a_value_that_is_none_is_refused(options: dict[str, str], said: str) -> None:
    with pytest.raises(OptionError, match=said):
        WriteConfig.from_options(options)


def test_options_of_providers_that_are_refused_are_named_as_ignored() -> None:
    key = "hoodie.write.lock.zookeeper.url"
    assert check_known({**SEVERAL, key: "zk:2181"}) == (key,)
