"""``pyhudi stats``: how large files are, what writes cost, and what services would do."""

from __future__ import annotations

import argparse
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from pyhudi.cli.cells import size
from pyhudi.cli.opening import open_given, place_of, subject_of, zone_of
from pyhudi.cli.plans.archive import archive_now
from pyhudi.cli.plans.clean import clean_now
from pyhudi.cli.plans.compaction import plan_now
from pyhudi.cli.report import Column, Fact, Grid, Kind, Report, Value
from pyhudi.cli.reports.files import source_facts
from pyhudi.cli.writes import Told, changes, told_by
from pyhudi.config.known import check_known
from pyhudi.config.options.files import SMALL_FILE_LIMIT
from pyhudi.config.table import TableType
from pyhudi.config.write import WriteConfig
from pyhudi.errors import HudiError
from pyhudi.table.files import TableFiles
from pyhudi.table.table import Table
from pyhudi.timeline.instant import Action

_MIB = 1 << 20
_BOUNDS = (0, 64 << 10, _MIB, 8 * _MIB, 32 * _MIB, 64 * _MIB)
"""Where the classes of the histogram begin, below the limit of small files."""

_BAR = 24
_HISTOGRAM = (
    Column(name="at_least", kind=Kind.SIZE),
    Column(name="below", kind=Kind.SIZE),
    Column(name="files", kind=Kind.COUNT),
    Column(name="share", kind=Kind.SHARE),
    Column(name="bytes", kind=Kind.SIZE),
    Column(name="bar"),
)
_COSTLY = (
    Column(name="instant", kind=Kind.INSTANT),
    Column(name="operation"),
    Column(name="rows_changed", kind=Kind.COUNT),
    Column(name="rows_written", kind=Kind.COUNT),
    Column(name="amplification", kind=Kind.RATIO),
    Column(name="bytes", kind=Kind.SIZE),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cost:
    """Rows that writes changed, and rows that they and services wrote for it."""

    changed: int
    written: int

    @property
    def amplification(self) -> float | None:
        """Rows written for each one that was changed."""
        return round(self.written / self.changed, 2) if self.changed else None


def stats(given: argparse.Namespace) -> Report:
    """Sizes of files, small ones, what writes cost, and what services would do."""
    table, options = open_given(given), dict(place_of(given).hoodie_conf)
    check_known(options)
    config = WriteConfig.from_options(options)
    found = table.files()
    told = told_by(table, table.timeline.write_instants().completed())
    limit = config.sizing.small_file_limit
    return Report(
        subject=subject_of(table),
        zone=zone_of(table),
        facts=(
            *size_facts(found, limit),
            *_cost_facts(told),
            *_service_facts(table, config),
        ),
        grids=(
            Grid(
                name="size_histogram",
                columns=_HISTOGRAM,
                rows=histogram_of(found, config),
                empty="the table has no base files",
            ),
            Grid(
                name="costliest_writes",
                columns=_COSTLY,
                rows=tuple(_costliest(told, given.limit)),
                empty="no write changed rows",
            ),
        ),
        notes=(
            f"A base file below {size(limit)} is small: inserts go there first "
            f"({SMALL_FILE_LIMIT.key}).",
            "Amplification is rows written for each row changed, by writes and services together, "
            "over the commits of the active timeline.",
        ),
    )


def histogram(sizes: Sequence[int], bounds: Sequence[int]) -> tuple[tuple[Value, ...], ...]:
    """How many files lie in each class of sizes, empty classes between others included.

    Shapes: least size, size below which (None for no end), files, their share, their bytes, a bar.
    """
    begins = sorted(set(bounds))
    classes: list[tuple[int, int | None]] = [*pairwise(begins), (begins[-1], None)]
    counted = [
        (first, end, [each for each in sizes if first <= each and (end is None or each < end)])
        for first, end in classes
    ]
    filled = [place for place, (*_, own) in enumerate(counted) if own]
    if not filled:
        return ()
    most = max(len(own) for *_, own in counted)
    return tuple(
        (first, end, len(own), len(own) / len(sizes), sum(own), "#" * round(len(own) / most * _BAR))
        for first, end, own in counted[filled[0] : filled[-1] + 1]
    )


def cost_of(told: Sequence[Told]) -> Cost:
    """What writes and services cost together."""
    own = [stat for each in told if not each.is_service for stat in each.stats]
    everything = [stat for each in told for stat in each.stats]
    # A deleted row is a record in a log file, and missing from a base file.
    deletes = sum(stat.num_deletes for stat in everything if stat.log_files is not None)
    return Cost(
        changed=sum(changes(own).values()),
        written=deletes + sum(stat.num_writes for stat in everything),
    )


def histogram_of(found: TableFiles, config: WriteConfig) -> tuple[tuple[Value, ...], ...]:
    """The classes of sizes that the base files of a table lie in, see ``histogram``."""
    return histogram(
        [each.size_bytes for each in found.latest_base_files()],
        (*_BOUNDS, config.sizing.small_file_limit, config.sizing.max_file_size),
    )


def size_facts(found: TableFiles, limit: int) -> Iterator[Fact]:
    """How many files a table has, how large they are, and how many lie below a limit."""
    slices = found.latest_slices()
    bases = [each.base_file.size_bytes for each in slices if each.base_file is not None]
    logs = [log.size_bytes for each in slices for log in each.log_files]
    small = [each for each in bases if each < limit]
    beside = (*found.log_files, *found.cdc_files)
    everything = sum(e.size_bytes for e in found.base_files) + sum(e.size_bytes for e in beside)
    older = everything - sum(bases) - sum(logs)
    yield Fact(name="partitions", value=len({e.partition for e in slices}), kind=Kind.COUNT)
    yield Fact(name="file_groups", value=len(slices), kind=Kind.COUNT)
    yield Fact(name="base_files", value=len(bases), kind=Kind.COUNT)
    yield Fact(name="base_bytes", value=sum(bases), kind=Kind.SIZE)
    if bases:
        yield Fact(name="median_base_file", value=sorted(bases)[len(bases) // 2], kind=Kind.SIZE)
    yield Fact(name="small_files", value=len(small), kind=Kind.COUNT)
    yield Fact(name="log_files", value=len(logs), kind=Kind.COUNT)
    yield Fact(name="log_bytes", value=sum(logs), kind=Kind.SIZE)
    ratio = round(sum(logs) / sum(bases), 3) if sum(bases) else None
    yield Fact(name="log_to_base", value=ratio, kind=Kind.RATIO)
    yield Fact(name="bytes_of_older_slices", value=older, kind=Kind.SIZE)
    known = (each.base_file.source for each in slices if each.base_file is not None)
    yield from source_facts([source for source in known if source is not None])


def _cost_facts(told: Sequence[Told]) -> Iterator[Fact]:
    cost = cost_of(told)
    yield Fact(name="rows_changed", value=cost.changed, kind=Kind.COUNT)
    yield Fact(name="rows_written", value=cost.written, kind=Kind.COUNT)
    yield Fact(name="write_amplification", value=cost.amplification, kind=Kind.RATIO)


def _service_facts(table: Table, config: WriteConfig) -> Iterator[Fact]:
    """What each service would do now; of one that cannot say, why."""
    yield from _or_why_not("clean", _clean_facts(table, config))
    yield from _or_why_not("archive", _archive_facts(table, config))
    if table.config.table_type is TableType.MERGE_ON_READ:
        yield from _or_why_not("compaction", _compaction_facts(table, config))


def _or_why_not(service: str, facts: Iterator[Fact]) -> Iterator[Fact]:
    try:
        yield from facts
    except HudiError as error:
        yield Fact(name=service, value=str(error))


def _clean_facts(table: Table, config: WriteConfig) -> Iterator[Fact]:
    found = clean_now(table, config, "schedule_and_execute").by_partition.values()
    yield Fact(name="clean_files", value=sum(each["files"] for each in found), kind=Kind.COUNT)
    yield Fact(name="clean_bytes", value=sum(each["bytes"] for each in found), kind=Kind.SIZE)


def _archive_facts(table: Table, config: WriteConfig) -> Iterator[Fact]:
    found = archive_now(table, config.services.archive)
    yield Fact(name="archive_instants", value=len(found), kind=Kind.COUNT)
    yield Fact(name="archive_files", value=sum(each.files for each in found), kind=Kind.COUNT)
    yield Fact(name="archive_bytes", value=sum(each.size_bytes for each in found), kind=Kind.SIZE)


def _compaction_facts(table: Table, config: WriteConfig) -> Iterator[Fact]:
    found = plan_now(table, config)
    pending = [each for each in table.timeline.pending() if each.action is Action.COMPACTION]
    yield Fact(name="compactions_pending", value=len(pending), kind=Kind.COUNT)
    yield Fact(name="compaction_due", value=found.is_due)
    yield Fact(name="compaction_slices", value=len(found.slices), kind=Kind.COUNT)
    reads = found.base_bytes + found.log_bytes
    yield Fact(name="compaction_reads", value=reads, kind=Kind.SIZE)


def _costliest(told: Sequence[Told], limit: int) -> list[tuple[Value, ...]]:
    costs = [(cost_of((each,)), each) for each in told if not each.is_service]
    paid = [(cost, each) for cost, each in costs if cost.amplification is not None]
    paid.sort(key=lambda pair: pair[0].amplification or 0, reverse=True)
    return [
        (
            each.instant.time,
            each.operation,
            cost.changed,
            cost.written,
            cost.amplification,
            each.size_bytes,
        )
        for cost, each in paid[: limit or None]
    ]
