"""A job's result in one line, for the end of a log, and what it would do as a table."""

from __future__ import annotations

from collections.abc import Iterator

from pyhudi.jobs.result import JobResult
from pyhudi.storage.objects.requests import Kind

_MIB = 1 << 20
_LEAST_SECONDS = 0.05
_COUNTS = (
    ("inserted", "inserted"),
    ("updated", "updated"),
    ("deleted", "deleted"),
    ("ignored", "ignored as older"),
    ("failed", "could not be written"),
)


def result_line(result: JobResult) -> str:
    """What a job did, to how many records, and how long each stage took; or why it did nothing."""
    head, seconds = f"{result.table}: {result.operation}", _seconds(result)
    if result.by_instant:
        number = _count(len(result.by_instant), "instant")
        return f"{head} would take {number} from the timeline; nothing was done"
    if result.status == "planned" and is_bootstrap(result):
        size = sum(each["bytes"] for each in result.by_partition.values())
        return f"{head} would take {_files(result.files['source'], size)} over; nothing was done"
    if result.status == "planned":
        planned = sum(each["bytes"] for each in result.by_partition.values())
        return f"{head} would delete {_files(result.files['planned'], planned)}; nothing was done"
    if result.status == "archived":
        taken = _count(result.files["instants"], "instant")
        return f"{head} took {taken} from the timeline, {seconds}"
    if result.instant is None:
        return f"{head} wrote nothing: {', '.join(filter(None, (result.reason, seconds)))}"
    match result.status:
        case "scheduled":
            said = f"{head} is planned as {result.instant}"
        case "unscheduled":
            said = f"{head} {result.instant} is taken back"
        case "already_committed":
            what = ", ".join(_what(result))
            said = f"{head} was committed by an earlier try as {result.instant}: {what}"
        case _:
            said = f"{head} committed {result.instant}: {', '.join(_what(result))}"
    return f"{said}, {seconds}" if seconds else said


def deletion_table(result: JobResult) -> str:
    """The files and bytes of each partition that a job would delete, and their sums, in columns."""
    rows = [
        (partition or "(not partitioned)", each["files"], each["bytes"])
        for partition, each in result.by_partition.items()
    ]
    rows.append(("all", sum(row[1] for row in rows), sum(row[2] for row in rows)))
    texts = [("partition", "files", "MiB")]
    texts += [(name, f"{files:,}", f"{size / _MIB:,.1f}") for name, files, size in rows]
    first, second, third = (max(map(len, column)) for column in zip(*texts, strict=True))
    return "\n".join(f"{a:<{first}}  {b:>{second}}  {c:>{third}}" for a, b, c in texts)


def is_bootstrap(result: JobResult) -> bool:
    """Whether partitions of the result would be bootstrapped, and not lose files."""
    return any("mode" in each for each in result.by_partition.values())


def mode_table(result: JobResult) -> str:
    """What would become of each partition of a source, and what would be written, in columns."""
    rows = [("partition", "mode", "files", "rows", "MiB", "would write")]
    rows += [
        (
            partition or "(not partitioned)",
            each["mode"],
            f"{each['files']:,}",
            f"{each['rows']:,}",
            f"{each['bytes'] / _MIB:,.1f}",
            each["writes"],
        )
        for partition, each in result.by_partition.items()
    ]
    a, b, c, d, e, _ = (max(map(len, column)) for column in zip(*rows, strict=True))
    return "\n".join(
        f"{i:<{a}}  {j:<{b}}  {k:>{c}}  {n:>{d}}  {o:>{e}}  {last}" for i, j, k, n, o, last in rows
    )


def instant_table(result: JobResult) -> str:
    """The instants that a job would archive, with their files and bytes, in columns."""
    rows = [("instant", "action", "files", "bytes")]
    rows += [
        (time, each["action"], f"{each['files']:,}", f"{each['bytes']:,}")
        for time, each in result.by_instant.items()
    ]
    a, b, c, d = (max(map(len, column)) for column in zip(*rows, strict=True))
    return "\n".join(f"{i:<{a}}  {j:<{b}}  {k:>{c}}  {n:>{d}}" for i, j, k, n in rows)


def _what(result: JobResult) -> Iterator[str]:
    """What became of the records, then of the files where that says more."""
    records, files = result.records, result.files
    said = [f"{records[name]:,} {words}" for name, words in _COUNTS if records.get(name)]
    if records.get("updated") and "ignored" not in records and files.get("appended"):
        said.append("those older than the stored ones are left out when they are read")
    if files.get("replaced"):
        said.append(f"{_count(files['replaced'], 'file group')} replaced")
    if "deleted" in files:
        said.append(f"{_files(files['deleted'], result.bytes_deleted)} deleted")
    if not said:
        written = files.get("created", 0) + files.get("rewritten", 0) + files.get("appended", 0)
        said.append(f"{_files(written, result.bytes_written)} written")
    yield from said
    yield from result.schema_changes


def _seconds(result: JobResult) -> str:
    stages = [
        f"{name} {seconds:.1f}"
        for name, seconds in result.seconds.items()
        if name != "total" and seconds >= _LEAST_SECONDS
    ]
    total = result.seconds.get("total")
    if total is None:
        return ""
    said = f"{total:.1f} s" + (f" ({', '.join(stages)})" if stages else "")
    requests = sum(result.requests.get(kind.value, 0) for kind in Kind)
    return f"{said}, {_count(requests, 'request')}" if requests else said


def _files(number: int, size_bytes: int) -> str:
    return f"{_count(number, 'file')} of {size_bytes / _MIB:,.1f} MiB"


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
