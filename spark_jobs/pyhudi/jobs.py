"""One frozen request per Spark job and what a job answers: the contract between Airflow and Spark.

A request knows its job: the script that runs it, what results call it, and what an earlier try of
it has left on the timeline. Airflow reads this module when it parses a DAG, so it needs nothing but
the standard library and the declared options.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields
from typing import Annotated, Any, ClassVar, Literal

from pyhudi.config.instant_text import parse_exact_instant
from pyhudi.config.options import compaction, operations, table
from pyhudi.errors import OptionError, PlatformError
from pyhudi.flags import SECRETS_VARIABLE, Flag, from_args, merged_options, to_args

RESULT_MARKER = "PYHUDI_RESULT "
FAILURE_MARKER = "PYHUDI_FAILED "

Status = Literal[
    "committed", "nothing_to_do", "already_committed", "skipped", "scheduled", "unscheduled"
]
Trace = Literal["commit", "plan"]
"""What a job that has succeeded leaves on the timeline, with the idempotency key of its request."""
COMPACTION = "compact"
LOG_COMPACTION = "log_compact"
"""What results of the job ``compaction.py`` call the operation, the two kinds of it."""
COMPACTION_KIND, LOG_COMPACTION_KIND = COMPACTION_KINDS = "compaction", "log_compaction"
CompactionMode = Literal["schedule", "execute", "schedule_and_execute", "unschedule"]
COMPACTION_MODES: tuple[CompactionMode, ...] = (
    "schedule",
    "execute",
    "schedule_and_execute",
    "unschedule",
)

IF_SOURCE_MISSING = ("fail", "retry", "skip")
"""What a job does about a source that is not there; the first unless it is said."""

BasePath = Annotated[str, Flag(help="folder or URI of the table")]
HoodieConf = Annotated[
    Mapping[str, str], Flag(help="Hudi option, may be repeated; wins over --props")
]
Props = Annotated[str | None, Flag(help="local file of Hudi options, Java properties")]
StorageOptions = Annotated[
    Mapping[str, str],
    Flag(
        name="--storage-option",
        help="option of the table's storage, may be repeated; secrets go to the environment "
        f"variable {SECRETS_VARIABLE}",
    ),
]
CommitMetadata = Annotated[
    Mapping[str, str], Flag(help="entry for the commit's extra metadata, may be repeated")
]
IdempotencyKey = Annotated[
    str | None,
    Flag(help="a commit that carries this key is not made twice", option=table.IDEMPOTENCY_KEY),
]
ResultPath = Annotated[str | None, Flag(help="local file for the result, JSON")]
Verbose = Annotated[bool, Flag(help="Spark's own log and stack traces as well")]


@dataclass(frozen=True, slots=True, kw_only=True)
class UpsertRequest:
    """What to write into which table: the flags of ``spark_jobs/upsert.py`` as a value.

    Fields whose flag has an option are shorthands for it; ``options()`` has all of them merged.
    ``script`` is the job script without ``.py``; ``trace`` tells an earlier try that succeeded.
    """

    script: ClassVar[str] = "upsert"
    trace: ClassVar[Trace] = "commit"

    base_path: BasePath
    source: Annotated[
        str | None,
        Flag(
            help="the rows to write: a path, a glob, a comma-separated list of paths, or a table "
            "name in the Spark catalog; not needed to delete partitions that the options name"
        ),
    ] = None
    table_name: Annotated[str | None, Flag(help="name of the table", option=table.TABLE_NAME)] = (
        None
    )
    table_type: Annotated[
        str | None, Flag(help="COPY_ON_WRITE or MERGE_ON_READ", option=table.TABLE_TYPE)
    ] = None
    operation: Annotated[
        str | None,
        Flag(
            help="upsert, insert, bulk_insert, delete, insert_overwrite, insert_overwrite_table or "
            "delete_partition",
            option=operations.OPERATION,
        ),
    ] = None
    record_key: Annotated[
        str | None,
        Flag(help="comma-separated columns that name a record", option=table.RECORD_KEY_FIELD),
    ] = None
    partition_path: Annotated[
        str | None,
        Flag(help="comma-separated columns to partition by", option=table.PARTITION_PATH_FIELD),
    ] = None
    ordering_field: Annotated[
        str | None,
        Flag(
            help="column whose highest value wins among records of one key",
            option=table.ORDERING_FIELD,
        ),
    ] = None
    partitions_to_delete: Annotated[
        str | None,
        Flag(
            help="comma-separated partition paths for delete_partition, * for any characters",
            option=operations.PARTITIONS_TO_DELETE,
        ),
    ] = None
    source_format: Annotated[
        str, Flag(help="format of the source as Spark names it: parquet, csv, json, orc, ...")
    ] = "parquet"
    source_options: Annotated[
        Mapping[str, str],
        Flag(name="--source-option", help="option of the Spark reader, may be repeated"),
    ] = field(default_factory=dict, repr=False)
    sql: Annotated[
        str | None,
        Flag(help="query over the view named source; its rows are written instead of the source's"),
    ] = None
    if_source_missing: Annotated[
        str | None,
        Flag(
            help="what a source that is not there means: fail (the default), retry (fail, and say "
            "that a retry can help) or skip (write nothing and end well)"
        ),
    ] = None
    hoodie_conf: HoodieConf = field(default_factory=dict, repr=False)
    props: Props = None
    storage_options: StorageOptions = field(default_factory=dict, repr=False)
    commit_metadata: CommitMetadata = field(default_factory=dict)
    idempotency_key: IdempotencyKey = None
    result_path: ResultPath = None
    verbose: Verbose = False

    @property
    def operation_name(self) -> str:
        """What the result calls the operation."""
        return operations.OPERATION.read(self.options()).value

    def check(self) -> None:
        """Refuse what no source can mend.

        Raises:
            OptionError: says what.
        """
        if self.if_source_missing not in (None, *IF_SOURCE_MISSING):
            allowed = ", ".join(IF_SOURCE_MISSING)
            raise OptionError(
                f"--if-source-missing is {self.if_source_missing!r}; allowed: {allowed}"
            )
        if not self.source:
            self.options()

    def options(self) -> dict[str, str]:
        """All options of the request under Hudi's own keys, aliases replaced by the key they mean.

        ``hoodie_conf`` wins over the file ``props``, and a shorthand wins over both.

        Raises:
            OptionError: the file cannot be read, one level gives one option two values, or there
                is no source and the operation needs one.
        """
        merged = merged_options(self)
        if not self.source:
            _check_needs_no_source(merged)
        return merged

    def to_args(self) -> list[str]:
        """The command line that ``from_args`` turns back into this request, secrets left out.

        Raises:
            OptionError: a text has a password in a URI.
        """
        return to_args(self)

    @classmethod
    def from_args(cls, argv: Sequence[str]) -> UpsertRequest:
        """The request a command line asks for; ``--help`` prints the flags and exits.

        Raises:
            OptionError: an unknown flag, a missing one, a pair that is not ``key=value``, or no
                source where the operation needs one.
        """
        found = cls(**from_args(argv, cls, "Write rows into a Hudi table."))
        found.check()
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class CompactionRequest:
    """What to do about a table's log files: the flags of ``spark_jobs/compaction.py`` as a value.

    A compaction makes base files of file slices, a log compaction one log block of many. Fields
    whose flag has an option are shorthands for it; ``options()`` has all of them merged.

    Guarantees: kind and mode are in the spelling of ``COMPACTION_KINDS`` and ``COMPACTION_MODES``,
        where they are among these: ``scheduleAndExecute``, as Hudi writes it, is taken too.
    """

    script: ClassVar[str] = "compaction"

    base_path: BasePath
    kind: Annotated[str, Flag(help=" or ".join(COMPACTION_KINDS))] = COMPACTION_KIND
    mode: Annotated[str, Flag(help=f"{', '.join(COMPACTION_MODES[:-1])} or unschedule")] = (
        "schedule_and_execute"
    )
    instant: Annotated[
        str | None,
        Flag(
            help="the compaction to execute or unschedule, by its digits or as a time with "
            "milliseconds; the oldest pending one is executed else"
        ),
    ] = None
    strategy: Annotated[
        str | None,
        Flag(
            help="which file slices a compaction takes, by Hudi's Java class",
            option=compaction.STRATEGY,
        ),
    ] = None
    max_delta_commits: Annotated[
        str | None,
        Flag(
            help="delta commits since the last compaction that make the next one due",
            option=compaction.MAX_DELTA_COMMITS,
        ),
    ] = None
    hoodie_conf: HoodieConf = field(default_factory=dict, repr=False)
    props: Props = None
    storage_options: StorageOptions = field(default_factory=dict, repr=False)
    commit_metadata: CommitMetadata = field(default_factory=dict)
    idempotency_key: IdempotencyKey = None
    result_path: ResultPath = None
    verbose: Verbose = False

    def __post_init__(self) -> None:
        for name, allowed in (("kind", COMPACTION_KINDS), ("mode", COMPACTION_MODES)):
            object.__setattr__(self, name, _spelled(getattr(self, name), allowed))

    @property
    def operation_name(self) -> str:
        """What the result calls the operation."""
        return LOG_COMPACTION if self.kind == LOG_COMPACTION_KIND else COMPACTION

    @property
    def trace(self) -> Trace:
        """What an earlier try that succeeded is recognised by."""
        return "plan" if self.mode == "schedule" else "commit"

    def options(self) -> dict[str, str]:
        """All options of the request, as those of ``UpsertRequest``.

        Raises:
            OptionError: the file cannot be read, or one level gives one option two values.
        """
        return merged_options(self)

    def check(self) -> None:
        """Refuse a kind or mode that does not exist, and what does not belong to it.

        Raises:
            OptionError: says which.
        """
        if self.kind not in COMPACTION_KINDS:
            raise OptionError(f"kind is {self.kind!r}; allowed: {', '.join(COMPACTION_KINDS)}")
        is_for_compactions = self.strategy is not None or self.max_delta_commits is not None
        if self.kind == LOG_COMPACTION_KIND and is_for_compactions:
            raise OptionError(
                "a log compaction has no strategy and counts no delta commits; leave --strategy "
                "and --max-delta-commits out"
            )
        if self.mode not in COMPACTION_MODES:
            raise OptionError(f"mode is {self.mode!r}; allowed: {', '.join(COMPACTION_MODES)}")
        if not self.instant and self.mode == "unschedule":
            raise OptionError("name the compaction to unschedule with --instant")
        if self.instant and self.mode in ("schedule", "schedule_and_execute"):
            raise OptionError(f"a compaction to {self.mode} gets its instant; leave --instant out")
        if self.instant:
            parse_exact_instant(self.instant)

    def to_args(self) -> list[str]:
        """The command line that ``from_args`` turns back into this request, secrets left out.

        Raises:
            OptionError: a text has a password in a URI.
        """
        return to_args(self)

    @classmethod
    def from_args(cls, argv: Sequence[str]) -> CompactionRequest:
        """The request a command line asks for; ``--help`` prints the flags and exits.

        Raises:
            OptionError: an unknown flag, a missing one, a kind or mode that does not exist, or
                what does not belong to it.
        """
        found = cls(**from_args(argv, cls, "Compact the log files of a table."))
        found.check()
        return found


Request = UpsertRequest | CompactionRequest


@dataclass(frozen=True, slots=True, kw_only=True)
class JobResult:
    """What a job did to a table.

    ``instant`` is None when nothing was written, and ``reason`` says why; it is the plan's
    when a compaction was scheduled or unscheduled. ``records`` counts inserted, updated, deleted,
    ignored and failed ones; ignored are those that were left out because the stored ones are newer.
    Rows that are appended to log files are compared when these are read, so that ``ignored`` is not
    among the counts of a write that appended some under a rule that compares.
    ``schema_changes`` says in words what the commit made of the table's schema.
    ``seconds`` has ``total`` and one entry per stage, in a job also ``start``, until Spark was up;
    ``stages`` what each stage handed on: ``rows``, ``bytes``, ``spilled_bytes`` and, where files
    are written, the seconds that tasks spent on them. ``failures`` is empty unless
    records failed: ``examples`` are the ``key`` and ``cause`` of the first, ``saved_to`` says where
    all of them are.
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
    seconds: Mapping[str, float] = field(default_factory=dict)
    stages: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    failures: Mapping[str, Any] = field(default_factory=dict)
    schema_changes: tuple[str, ...] = ()
    reason: str | None = None

    def as_dict(self) -> dict[str, Any]:
        """The result as plain JSON values, in the order of the fields."""
        plain: dict[str, Any] = {entry.name: getattr(self, entry.name) for entry in fields(self)}
        for name in ("records", "files", "seconds", "stages", "failures"):
            plain[name] = dict(plain[name])
        for name in ("partitions", "schema_changes"):
            plain[name] = list(plain[name])
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
            for name in ("partitions", "schema_changes"):
                known[name] = tuple(known.get(name, ()))
            return cls(**known)
        except (TypeError, ValueError) as error:
            raise PlatformError(f"this is no result of a pyhudi job: {text[:200]!r}") from error


def _spelled(name: str, allowed: Sequence[str]) -> str:
    """The allowed name that has these letters, whatever its capitals, underscores and dashes."""
    by_letters = {each.replace("_", ""): each for each in allowed}
    letters = name.strip().lower().replace("_", "").replace("-", "")
    return by_letters.get(letters, name)


def _check_needs_no_source(options: Mapping[str, str]) -> None:
    is_deletion = operations.OPERATION.read(options) is operations.Operation.DELETE_PARTITION
    if is_deletion and operations.PARTITIONS_TO_DELETE.read(options) is not None:
        return
    raise OptionError(
        "there is no source; name the rows to write with --source, or the partitions that "
        f"{operations.Operation.DELETE_PARTITION.value} takes with --partitions-to-delete"
    )
