"""What a job answers."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from typing import Any, Literal

from pyhudi.errors import PlatformError

Status = Literal[
    "committed",
    "nothing_to_do",
    "already_committed",
    "skipped",
    "scheduled",
    "unscheduled",
    "planned",
    "archived",
]

_MAPPINGS = (
    *("records", "files", "seconds", "stages", "failures", "by_partition", "by_instant"),
    *("requests", "application"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobResult:
    """What a job did to a table.

    ``instant`` is None when nothing was written, and ``reason`` says why; it is the plan's
    when a service was scheduled or unscheduled. A job that was only to look has ``planned`` what it
    would do: nothing is written then either. ``records`` counts inserted, updated, deleted,
    ignored and failed ones; ignored are those that were left out because the stored ones are newer.
    Rows that are appended to log files are compared when these are read, so that ``ignored`` is not
    among the counts of a write that appended some under a rule that compares.
    ``schema_changes`` says in words what the commit made of the table's schema.
    ``seconds`` has ``total`` and one entry per stage, in a job also ``start``, until Spark was up;
    ``stages`` what each stage handed on: ``rows``, ``bytes``, ``spilled_bytes`` and, where files
    are written, the seconds that tasks spent on them. ``failures`` is empty unless
    records failed: ``examples`` are the ``key`` and ``cause`` of the first, ``saved_to`` says where
    all of them are. ``by_partition`` has the ``files`` and ``bytes`` of each partition path that
    would be deleted or bootstrapped, and the ``mode`` and ``rows`` of the latter; ``by_instant``
    the ``action``, ``files`` and ``bytes`` of each instant that would be archived, in the answer of
    a job that was only to look: its status is ``planned``.
    ``requests`` counts those to the object store where the table lies, of driver and tasks, as
    ``get``, ``put``, ``list``, ``head``, ``delete`` and ``multipart``; those among them that are
    about markers and heartbeats are counted once more by these names. It is empty elsewhere.
    ``savepoints`` are those of the table, where they are asked for: ``instant``, ``user``,
    ``comment``, ``created_ms`` and the number of ``files`` of each. ``conflicts`` counts how often
    a write was done again because others had changed the same meanwhile. ``anomaly`` says what was
    committed beside this write and should not have been, if anything: the lock has failed.
    ``application`` is Spark's: its ``id``, and ``ui``, the address of its page while it runs.
    """

    status: Status
    operation: str
    table: str
    base_path: str
    instant: str | None = None
    completion_time: str | None = None
    records: Mapping[str, int] = field(default_factory=dict)
    partitions: tuple[str, ...] = ()
    files: Mapping[str, int] = field(default_factory=dict)
    bytes_written: int = 0
    bytes_deleted: int = 0
    seconds: Mapping[str, float] = field(default_factory=dict)
    stages: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    failures: Mapping[str, Any] = field(default_factory=dict)
    schema_changes: tuple[str, ...] = ()
    by_partition: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    by_instant: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    reason: str | None = None
    requests: Mapping[str, int] = field(default_factory=dict)
    savepoints: tuple[Mapping[str, Any], ...] = ()
    conflicts: int = 0
    anomaly: str | None = None
    application: Mapping[str, str] = field(default_factory=dict)

    def as_dict(self) -> dict[str, Any]:
        """The result as plain JSON values, in the order of the fields."""
        plain: dict[str, Any] = {entry.name: getattr(self, entry.name) for entry in fields(self)}
        for name in _MAPPINGS:
            plain[name] = dict(plain[name])
        for name in ("partitions", "schema_changes"):
            plain[name] = list(plain[name])
        plain["savepoints"] = [dict(each) for each in self.savepoints]
        return plain

    def to_json(self) -> str:
        """The result as one line of JSON."""
        return json.dumps(self.as_dict())

    @classmethod
    def from_json(cls, text: str) -> JobResult:
        """The result a job printed; fields of a newer version are left out.

        Raises:
            PlatformError: the text is no result, such as a file that was cut short.
        """
        try:
            found = json.loads(text)
            known = {entry.name: found[entry.name] for entry in fields(cls) if entry.name in found}
            for name in ("partitions", "schema_changes", "savepoints"):
                known[name] = tuple(known.get(name, ()))
            return cls(**known)
        except (TypeError, ValueError) as error:
            raise PlatformError(f"this is no result of a pyhudi job: {text[:200]!r}") from error
