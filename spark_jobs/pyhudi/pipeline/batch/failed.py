"""Records that cannot be written, on their way from the tasks to the error or the saved files."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import numpy as np
import pyarrow as pa

from pyhudi.actions.commit import WriteStat
from pyhudi.config.options.failures import ERROR_POLICY, ErrorPolicy, FailureConfig
from pyhudi.errors import RecordKeyError, RequestError, SchemaError
from pyhudi.keys.generators import KeyGenerator
from pyhudi.pipeline.batch.pieces import from_bytes
from pyhudi.runner.runner import SpreadRows, TaskFunction
from pyhudi.runner.task import TaskIdentity
from pyhudi.storage.storage import Storage
from pyhudi.write.failed import (
    FAILED_SCHEMA,
    KEY_CAUSE,
    ORDERING_CAUSE,
    FailedFile,
    find_failed,
    keep_saved,
)

MOST_EXAMPLES: Final = 10
_NAME_SCHEMA: Final = pa.schema([pa.field("name", pa.string())])


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureReport:
    """How many records failed, for which causes, and the first of them.

    Shapes: ``causes`` has the number of records of each cause; ``examples`` are key, None without
        one, and cause, ``MOST_EXAMPLES`` at most.
    """

    causes: Mapping[str, int] = field(default_factory=dict)
    examples: tuple[tuple[str | None, str], ...] = ()

    @property
    def count(self) -> int:
        """Failed records in all."""
        return sum(self.causes.values())

    @classmethod
    def of(cls, records: pa.Table) -> FailureReport:
        """The report of failed records.

        Shapes: ``FAILED_SCHEMA``.
        """
        counts = records.column("cause").combine_chunks().value_counts()
        first = records.slice(0, MOST_EXAMPLES).select(["record_key", "cause"])
        keys, causes = (column.to_pylist() for column in first.columns)
        return cls(
            causes={str(each["values"]): each["counts"].as_py() for each in counts},
            examples=tuple(zip(keys, causes, strict=True)),
        )

    @classmethod
    def joined(cls, reports: Iterable[FailureReport]) -> FailureReport:
        """One report of several."""
        causes: Counter[str] = Counter()
        examples: list[tuple[str | None, str]] = []
        for report in reports:
            causes.update(report.causes)
            examples += report.examples[: MOST_EXAMPLES - len(examples)]
        return cls(causes=dict(causes), examples=tuple(examples))

    @classmethod
    def from_text(cls, text: str) -> FailureReport | None:
        """The report in a text of ``to_text``; None when it is another message of a task."""
        found = json.loads(text)
        if "failed" not in found:
            return None
        return cls(causes=found["failed"], examples=tuple(map(tuple, found["examples"])))

    def to_text(self) -> str:
        """The report as text that reaches the driver with a task's result."""
        return json.dumps({"failed": dict(self.causes), "examples": self.examples})

    def refuse_unless(self, *, is_saving: bool) -> None:
        """End the write when records failed that are not to be saved.

        Raises:
            RecordKeyError: some have no key.
            RequestError: some have no ordering value.
            SchemaError: some have values that do not fit the table.
        """
        if self.count and not is_saving:
            raise self._error()

    def _error(self) -> RequestError:
        causes = "; ".join(f"{cause} ({_rows(count)})" for cause, count in self.causes.items())
        known = ", ".join(repr(key) for key, _ in self.examples if key is not None)
        keys = f"; the first keys among them are {known}" if known else ""
        message = (
            f"{_rows(self.count)} cannot be written, so nothing was: {causes}{keys}. Mend these "
            "rows or leave them out, or write the others with "
            f"{ERROR_POLICY.key}={ErrorPolicy.REPORT.value}"
        )
        if any(cause.startswith(KEY_CAUSE) for cause in self.causes):
            return RecordKeyError(message)
        if any(cause.startswith(ORDERING_CAUSE) for cause in self.causes):
            return RequestError(message)
        return SchemaError(message)


class FailedRecords:
    """The failed records of one task, as its batches come by.

    Records are held only to be saved, until ``take`` or ``saved`` hands them on.
    """

    def __init__(self, config: FailureConfig) -> None:
        self._config = config
        self._held: list[pa.Table] = []
        self._reports: list[FailureReport] = []

    @property
    def report(self) -> FailureReport:
        """What failed until now."""
        return FailureReport.joined(self._reports)

    @property
    def is_fatal(self) -> bool:
        """Whether the write is lost, so that other rows need no care any more."""
        return bool(self._reports) and not self._config.is_saving

    def without(
        self,
        rows: pa.Table,
        *,
        generator: KeyGenerator,
        schema: pa.Schema,
        ordering_fields: Sequence[str],
    ) -> pa.Table:
        """The rows of a batch that can be written; the others are noted.

        When none is to blame they are all given, without the values of other batches that lists of
        a slice may still refer to.
        """
        found = find_failed(rows, generator, schema, ordering_fields)
        if found is None:
            return rows.take(pa.array(np.arange(rows.num_rows)))
        self.note(found.records(rows))
        return rows.filter(pa.array(~found.is_failed))

    def note(self, records: pa.Table) -> None:
        """Note records that failed, none among them.

        Shapes: ``FAILED_SCHEMA``.
        """
        if not records.num_rows:
            return
        self._reports.append(FailureReport.of(records))
        if self._config.is_saving:
            self._held.append(records)

    def take(self) -> Iterator[pa.Table]:
        """The records held, each batch once.

        Shapes: ``FAILED_SCHEMA``.
        """
        held, self._held = self._held, []
        yield from held


@dataclass(frozen=True, slots=True, kw_only=True)
class Failures:
    """What of a write failed and is to be saved, as the driver knows it.

    ``pieces`` has the records in its column ``rows``, or is None when the tasks saved them
    themselves, to files of ``names``.
    """

    report: FailureReport = field(default_factory=FailureReport)
    path: str | None = None
    pieces: SpreadRows | None = None
    names: tuple[str, ...] = ()

    def save(self, storage: Storage | None, instant: str) -> None:
        """Save the records in a storage; files of an attempt of this instant are replaced."""
        if storage is None or not self.report.count:
            return
        names = self.names
        if self.pieces is not None:
            saving = self.pieces.select("rows").map(_saver(storage, instant), _NAME_SCHEMA)
            names = tuple(row.name for row in saving.collect())
        keep_saved(storage, instant, names)

    def summary(self) -> dict[str, Any]:
        """What a job answers of the failed records; empty when there are none."""
        if not self.report.count:
            return {}
        examples = [{"key": key, "cause": cause} for key, cause in self.report.examples]
        return {"examples": examples, "saved_to": self.path}

    def on(self, stats: Sequence[WriteStat]) -> tuple[WriteStat, ...]:
        """The statistics with the failed records counted in the first of them by path.

        A record that fails has no file group yet, so which one counts it says nothing.
        """
        if not self.report.count or not stats:
            return tuple(stats)
        first, *others = sorted(stats, key=lambda stat: stat.path or "")
        total = first.total_write_errors + self.report.count
        return (replace(first, total_write_errors=total), *others)


def _saver(storage: Storage, instant: str) -> TaskFunction:
    def save(task: TaskIdentity, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with FailedFile(storage, instant, task) as file:
            for batch in batches:
                for records in batch.column(0):
                    file.write(
                        pa.Table.from_batches([from_bytes(records.as_buffer(), FAILED_SCHEMA)])
                    )
        if file.name is not None:
            yield pa.record_batch([pa.array([file.name])], schema=_NAME_SCHEMA)

    return save


def _rows(count: int) -> str:
    return "1 row" if count == 1 else f"{count} rows"
