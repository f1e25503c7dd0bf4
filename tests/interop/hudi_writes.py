"""Real Hudi working on a table: writes, cleaning, archiving, rollback, savepoints."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from pyspark.sql import DataFrame
from pyspark.sql.types import StructType

from tests.interop.hudi_tables import Hudi, properties, timeline

SMALL_JOB = {
    "hoodie.upsert.shuffle.parallelism": "1",
    "hoodie.insert.shuffle.parallelism": "1",
    "hoodie.bulkinsert.shuffle.parallelism": "1",
    "hoodie.delete.shuffle.parallelism": "1",
    "hoodie.simple.index.parallelism": "1",
    "hoodie.rollback.parallelism": "1",
    "hoodie.cleaner.parallelism": "1",
    "hoodie.embed.timeline.server": "false",
    "hoodie.write.markers.type": "DIRECT",
}
# Writer options that have the same name as the table property.
SHARED_NAMES = (
    "hoodie.table.name",
    "hoodie.datasource.write.hive_style_partitioning",
    "hoodie.datasource.write.partitionpath.urlencode",
    "hoodie.datasource.write.drop.partition.columns",
    "hoodie.populate.meta.fields",
)
RENAMED = {
    "hoodie.table.type": "hoodie.datasource.write.table.type",
    "hoodie.table.recordkey.fields": "hoodie.datasource.write.recordkey.field",
    "hoodie.table.partition.fields": "hoodie.datasource.write.partitionpath.field",
    "hoodie.table.precombine.field": "hoodie.datasource.write.precombine.field",
    "hoodie.table.ordering.fields": "hoodie.datasource.write.precombine.field",
    "hoodie.table.keygenerator.class": "hoodie.datasource.write.keygenerator.class",
}


def table_options(hudi: Hudi, table: str) -> dict[str, str]:
    """Writer options that follow from the table's own properties and leave its version alone."""
    found = properties(hudi, table)
    options = dict(SMALL_JOB)
    options.update({name: found[name] for name in SHARED_NAMES if name in found})
    options.update({new: found[old] for old, new in RENAMED.items() if found.get(old)})
    options["hoodie.metadata.enable"] = str(
        bool(found.get("hoodie.table.metadata.partitions"))
    ).lower()
    if not hudi.is_1x:
        if payload := found.get("hoodie.compaction.payload.class"):
            options["hoodie.datasource.write.payload.class"] = payload
        return options
    options["hoodie.write.table.version"] = found["hoodie.table.version"]
    options["hoodie.write.auto.upgrade"] = "false"
    if _has_single_complex_key(found):
        # 1.1 refuses such tables of version 6 unless told which of the two encodings they hold.
        options["hoodie.write.complex.keygen.validation.enable"] = "false"
        options["hoodie.write.complex.keygen.new.encoding"] = str(
            not _keys_name_their_field(table, found["hoodie.table.recordkey.fields"])
        ).lower()
    return options


def _has_single_complex_key(found: dict[str, str]) -> bool:
    # 0.15 records the class, 1.x the type.
    class_name = found.get("hoodie.table.keygenerator.class", "")
    kind = found.get("hoodie.table.keygenerator.type", "")
    fields = found.get("hoodie.table.recordkey.fields", "")
    return "COMPLEX" in (class_name + kind).upper() and "," not in fields


def _keys_name_their_field(table: str, field: str) -> bool:
    files = (p for p in Path(table).rglob("*.parquet") if ".hoodie" not in p.parts)
    for path in files:
        keys = pq.read_table(path, columns=["_hoodie_record_key"], partitioning=None).column(0)
        if len(keys):
            return str(keys[0]).startswith(f"{field}:")
    return True


def write(
    hudi: Hudi,
    table: str,
    rows: DataFrame,
    operation: str,
    *,
    options: dict[str, str] | None = None,
    mode: str = "append",
) -> None:
    """Let Hudi write; what the table says of itself is filled in, `options` win over it."""
    exists = (Path(table) / ".hoodie" / "hoodie.properties").exists()
    chosen = table_options(hudi, table) if exists else dict(SMALL_JOB)
    chosen["hoodie.datasource.write.operation"] = operation
    chosen.update(options or {})
    rows.write.format("hudi").options(**chosen).mode(mode).save(table)


def bootstrap(
    hudi: Hudi, table: str, source: str, options: dict[str, str], mode: str = "overwrite"
) -> None:
    """Let Hudi make a table of the dataset in a folder."""
    chosen = {
        **SMALL_JOB,
        "hoodie.bootstrap.parallelism": "2",
        "hoodie.datasource.write.operation": "bootstrap",
        "hoodie.bootstrap.base.path": source,
        **options,
    }
    # A frame with columns would give the table its schema, in place of the source's files.
    nothing = hudi.spark.createDataFrame([], StructType([]))
    nothing.write.format("hudi").options(**chosen).mode(mode).save(table)


def write_config(hudi: Hudi, table: str, options: dict[str, str]) -> Any:
    """A HoodieWriteConfig for an existing table."""
    chosen = {**table_options(hudi, table), **options}
    if ordering := chosen.get("hoodie.datasource.write.precombine.field"):
        chosen["hoodie.payload.ordering.field"] = ordering
        chosen["hoodie.payload.event.time.field"] = ordering
    props = hudi.jvm.java.util.Properties()
    for name, value in chosen.items():
        props.setProperty(name, value)
    return (
        hudi.apache.config.HoodieWriteConfig.newBuilder()
        .withPath(table)
        .withProps(props)
        .withSchema(hudi.table_schema(table).toString())
        .build()
    )


@contextmanager
def write_client(hudi: Hudi, table: str, options: dict[str, str]) -> Iterator[Any]:
    """A Spark write client on an existing table."""
    config = write_config(hudi, table, options)
    client = hudi.apache.client.SparkRDDWriteClient(hudi.engine(), config)
    try:
        yield client
    finally:
        client.close()


def clean(
    hudi: Hudi, table: str, retain: int = 1, options: dict[str, str] | None = None
) -> str | None:
    """Clean to the newest `retain` commits, or as options say; answer the clean instant.

    That is None when nothing was due.
    """
    names = ("hoodie.cleaner.commits.retained", "hoodie.clean.commits.retained")
    chosen = dict.fromkeys(names, str(retain))
    chosen["hoodie.keep.min.commits"] = str(retain + 1)
    chosen["hoodie.keep.max.commits"] = str(retain + 2)
    before = _cleans(hudi, table)
    with write_client(hudi, table, chosen | (options or {})) as client:
        client.clean()
    new = _cleans(hudi, table) - before
    return max(new) if new else None


def plan_clean(hudi: Hudi, table: str, options: dict[str, str]) -> str | None:
    """Plan a clean; answer its instant, None when nothing was due."""
    service = hudi.apache.common.model.TableServiceType.CLEAN
    with write_client(hudi, table, options) as client:
        return _planned(
            client.scheduleTableService(hudi.apache.common.util.Option.empty(), service)
        )


def _cleans(hudi: Hudi, table: str) -> set[str]:
    entries = timeline(hudi, table)
    return {e["requested"] for e in entries if e["action"] == "clean" and e["state"] == "COMPLETED"}


def rollback(hudi: Hudi, table: str, instant: str) -> bool:
    """Roll one instant back."""
    with write_client(hudi, table, {}) as client:
        return bool(client.rollback(instant))


def archive(hudi: Hudi, table: str, options: dict[str, str]) -> None:
    """Archive what the options say of the timeline."""
    with write_client(hudi, table, options) as client:
        client.archive()


def change_version(hudi: Hudi, table: str, to: int, own: str) -> None:
    """Upgrade or downgrade a table, as the procedures do; ``own`` is the release's own version."""
    chosen = {"hoodie.write.auto.upgrade": "true", "hoodie.write.table.version": own}
    change = hudi.apache.table.upgrade
    change.UpgradeDowngrade(
        hudi.meta_client(table),
        write_config(hudi, table, chosen),
        hudi.engine(),
        change.SparkUpgradeDowngradeHelper.getInstance(),
    ).run(hudi.apache.common.table.HoodieTableVersion.fromVersionCode(to), None)


def savepoint(hudi: Hudi, table: str, instant: str) -> None:
    """Save the files of a write."""
    with write_client(hudi, table, {}) as client:
        client.savepoint(instant, "hudi", "a comment")


def delete_savepoint(hudi: Hudi, table: str, instant: str) -> None:
    """Give them up."""
    with write_client(hudi, table, {}) as client:
        client.deleteSavepoint(instant)


def restore(hudi: Hudi, table: str, instant: str) -> None:
    """Take a table back to a savepoint."""
    with write_client(hudi, table, {}) as client:
        client.restoreToSavepoint(instant)


def plan_compaction(hudi: Hudi, table: str, options: dict[str, str] | None = None) -> str | None:
    """Plan a compaction; answer its instant, None when nothing was due."""
    due = {"hoodie.compact.inline.max.delta.commits": "1", **(options or {})}
    with write_client(hudi, table, due) as client:
        return _planned(client.scheduleCompaction(hudi.apache.common.util.Option.empty()))


def run_compaction(
    hudi: Hudi, table: str, instant: str, options: dict[str, str] | None = None
) -> None:
    """Run a compaction that is planned."""
    with write_client(hudi, table, options or {}) as client:
        client.compact(*_committing(hudi, instant))


def plan_log_compaction(hudi: Hudi, table: str, blocks: int = 2) -> str | None:
    """Plan a log compaction of slices with so many blocks; answer its instant, None for none."""
    due = {"hoodie.log.compaction.blocks.threshold": str(blocks)}
    with write_client(hudi, table, due) as client:
        return _planned(client.scheduleLogCompaction(hudi.apache.common.util.Option.empty()))


def run_log_compaction(hudi: Hudi, table: str, instant: str) -> None:
    """Run a log compaction that is planned."""
    with write_client(hudi, table, {}) as client:
        client.logCompact(*_committing(hudi, instant))


def _planned(found: Any) -> str | None:
    return str(found.get()) if found.isPresent() else None


def _committing(hudi: Hudi, instant: str) -> tuple[object, ...]:
    """What a client is given to run a plan and commit it; older ones commit in any case."""
    return (instant, True) if hudi.is_1x else (instant,)
