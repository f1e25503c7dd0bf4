"""What real Hudi says of a table: rows, timeline, slices, schema. Nothing here writes to it."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, SparkSession

Json = dict[str, Any]

META_COLUMNS = (
    "_hoodie_commit_time",
    "_hoodie_commit_seqno",
    "_hoodie_record_key",
    "_hoodie_partition_path",
    "_hoodie_file_name",
)


@dataclass(frozen=True)
class Hudi:
    """The session, the version it carries, and doors to Hudi's own classes."""

    spark: SparkSession
    version: str

    @property
    def is_1x(self) -> bool:
        """Whether the API is that of the 1.x line."""
        return self.version.startswith("1.")

    @property
    def jvm(self) -> Any:
        """The gateway to the driver's JVM."""
        return self.spark._jvm

    @property
    def apache(self) -> Any:
        """The Java package `org.apache.hudi`."""
        return self.jvm.org.apache.hudi

    def engine(self) -> Any:
        """Hudi's Spark engine context."""
        return self.apache.client.common.HoodieSparkEngineContext(self.spark._jsc)

    def meta_client(self, table: str) -> Any:
        """A fresh HoodieTableMetaClient with the active timeline loaded."""
        hadoop = self.spark._jsc.hadoopConfiguration()
        conf = self.apache.storage.hadoop.HadoopStorageConfiguration(hadoop)
        builder = self.apache.common.table.HoodieTableMetaClient.builder()
        return builder.setConf(conf).setBasePath(table).setLoadActiveTimelineOnLoad(True).build()

    def table_schema(self, table: str) -> Any:
        """The table's schema without meta columns, whose text is Avro's in every release."""
        resolver = self.apache.common.table.TableSchemaResolver(self.meta_client(table))
        if self.version.startswith("1.2"):
            return resolver.getTableSchema(False)
        return resolver.getTableAvroSchema(False)

    def requested_time(self, instant: Any) -> str:
        """An instant's requested time, which the two lines name differently."""
        return instant.requestedTime() if self.is_1x else instant.getTimestamp()

    def completion_time(self, instant: Any) -> str | None:
        """An instant's completion time, or None while it is pending."""
        return instant.getCompletionTime() if self.is_1x else instant.getStateTransitionTime()

    def class_of(self, name: str) -> Any:
        """A Java class object by its name below `org.apache.hudi`."""
        return self.jvm.java.lang.Class.forName(f"org.apache.hudi.{name}")


def present(option: Any) -> Any:
    """The value of a Hudi Option, or None."""
    return option.get() if option.isPresent() else None


def causes(error: BaseException) -> str:
    """The message of an error, and of the Java causes below it."""
    java = getattr(error, "java_exception", None)
    lines = []
    while java is not None and len(lines) < 8:
        lines.append(str(java.toString()).split("\n")[0])
        java = java.getCause()
    return " <- ".join(lines) or f"{type(error).__name__}: {error}"


def properties(hudi: Hudi, table: str) -> dict[str, str]:
    """The table's properties as Hudi parses them."""
    props = hudi.meta_client(table).getTableConfig().getProps()
    return {name: props.getProperty(name) for name in props.stringPropertyNames()}


def frame(
    hudi: Hudi,
    table: str,
    *,
    as_of: str | None = None,
    begin: str | None = None,
    end: str | None = None,
    metadata: bool = True,
    optimized: bool = False,
) -> DataFrame:
    """The Spark data frame of one query: snapshot, time travel with `as_of`, or incremental."""
    options = {"hoodie.metadata.enable": str(metadata).lower()}
    if optimized:
        options["hoodie.datasource.query.type"] = "read_optimized"
    if as_of is not None:
        options["as.of.instant"] = as_of
    if begin is not None:
        options["hoodie.datasource.query.type"] = "incremental"
        options["hoodie.datasource.read.begin.instanttime"] = begin
        if end is not None:
            options["hoodie.datasource.read.end.instanttime"] = end
    hudi.spark.catalog.clearCache()
    return hudi.spark.read.format("hudi").options(**options).load(table)


def save(rows: DataFrame, output: str) -> int:
    """Write a data frame as Parquet files in the folder `output`; answer the number of rows."""
    rows.write.mode("overwrite").parquet(output)
    return sum(pq.read_metadata(p).num_rows for p in Path(output).glob("*.parquet"))


def fetch(rows: DataFrame, scratch: str) -> pa.Table:
    """A data frame as an Arrow table, by way of Parquet in `scratch`."""
    save(rows, scratch)
    return pa.concat_tables([pq.read_table(p) for p in sorted(Path(scratch).glob("*.parquet"))])


def timeline(hudi: Hudi, table: str) -> list[Json]:
    """Instants of the active timeline in order: action, state, requested, completed."""
    instants = hudi.meta_client(table).reloadActiveTimeline().getInstants()
    found = [
        {
            "action": i.getAction(),
            "state": i.getState().toString(),
            "requested": hudi.requested_time(i),
            "completed": hudi.completion_time(i),
        }
        for i in instants
    ]
    return sorted(found, key=lambda entry: (entry["requested"], entry["action"]))


def archived(hudi: Hudi, table: str, start: str | None = None) -> list[Json]:
    """Instants of the archived timeline, and what Hudi finds of each in its archive.

    From ``start`` on, as who looks for some, completed ones alone are read.
    """
    client = hudi.meta_client(table)
    line = client.getArchivedTimeline(start) if start else client.getArchivedTimeline()
    line.loadCompletedInstantDetailsInMemory()
    found = []
    for instant in line.getInstants():
        details = present(line.getInstantDetails(instant))
        found.append(
            {
                "action": instant.getAction(),
                "state": instant.getState().toString(),
                "requested": hudi.requested_time(instant),
                "details": None if details is None else bytes(details).decode(errors="replace"),
            }
        )
    return sorted(found, key=lambda each: (each["requested"], each["action"], each["state"]))


def partitions(hudi: Hudi, table: str) -> list[str]:
    """Partition paths as Hudi finds them in the folders, without the metadata table."""
    client = hudi.meta_client(table)
    listing = hudi.apache.metadata.FileSystemBackedTableMetadata
    arguments = [hudi.engine(), client.getTableConfig(), client.getStorage(), table]
    if not hudi.is_1x:
        arguments.append(False)
    return sorted(listing(*arguments).getAllPartitionPaths())


def slices(hudi: Hudi, table: str, *, every: bool = False) -> list[Json]:
    """File slices of the latest snapshot, or every one: partition, file id, instant, base file."""
    client = hudi.meta_client(table)
    commits = client.reloadActiveTimeline().getCommitsAndCompactionTimeline()
    last = present(commits.filterCompletedInstants().lastInstant())
    if last is None:
        return []
    view_class = hudi.apache.common.table.view.HoodieTableFileSystemView
    if hudi.is_1x:
        view = view_class.fileListingBasedFileSystemView(hudi.engine(), client, commits)
    else:
        view = view_class(client, commits)
    found = []
    for partition in partitions(hudi, table):
        if every:
            stream = view.getAllFileSlices(partition)
        else:
            time = hudi.requested_time(last)
            stream = view.getLatestMergedFileSlicesBeforeOrOn(partition, time)
        found.extend(_slice(partition, piece) for piece in stream.iterator())
    view.close()
    return sorted(found, key=lambda s: (s["partition"], s["file_id"], s["base_instant"]))


def _slice(partition: str, piece: Any) -> Json:
    base = present(piece.getBaseFile())
    return {
        "partition": partition,
        "file_id": piece.getFileId(),
        "base_instant": piece.getBaseInstantTime(),
        "base_file": base.getFileName() if base else None,
        "size_bytes": base.getFileSize() if base else 0,
        "log_files": sum(1 for _ in piece.getLogFiles().iterator()),
    }


def schema(hudi: Hudi, table: str) -> Json:
    """The table's schema as Hudi resolves it: Avro without meta columns, and Spark's JSON."""
    return {
        "avro": hudi.table_schema(table).toString(),
        "spark": frame(hudi, table).schema.jsonValue(),
    }


def commit_metadata(hudi: Hudi, table: str) -> dict[str, Any]:
    """Completed commits by requested time, each body parsed by Hudi's own class."""
    line = hudi.meta_client(table).reloadActiveTimeline()
    found = {}
    for instant in line.getCommitsTimeline().filterCompletedInstants().getInstants():
        if hudi.is_1x:
            body = line.readCommitMetadata(instant)
        else:
            kind = hudi.class_of("common.model.HoodieCommitMetadata")
            body = hudi.apache.common.model.HoodieCommitMetadata.fromBytes(
                present(line.getInstantDetails(instant)), kind
            )
        found[hudi.requested_time(instant)] = body
    return found
