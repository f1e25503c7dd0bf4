"""A job's result in one line, for the end of a log."""

from __future__ import annotations

from collections.abc import Iterator

from pyhudi.jobs.result import JobResult

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
    if not said:
        written = files.get("created", 0) + files.get("rewritten", 0) + files.get("appended", 0)
        said.append(f"{_count(written, 'file')} of {result.bytes_written / _MIB:,.1f} MiB written")
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
    return f"{total:.1f} s" + (f" ({', '.join(stages)})" if stages else "")


def _count(number: int, what: str) -> str:
    return f"{number:,} {what}{'' if number == 1 else 's'}"
