"""One frozen request per Spark job and what a job answers: the contract between Airflow and Spark.

Airflow reads this module when it parses a DAG, so it needs nothing but the standard library and
the declared options.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping, Sequence
from dataclasses import MISSING, dataclass, field, fields
from typing import Any, Literal, NoReturn

from pyhudi.config import operations, properties, write
from pyhudi.config.option import Option, canonical_key
from pyhudi.errors import OptionError, PlatformError

RESULT_MARKER = "PYHUDI_RESULT "
FAILURE_MARKER = "PYHUDI_FAILED "

Status = Literal["committed", "nothing_to_do", "already_committed"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Flag:
    """How one field of a request is spelt on a command line.

    ``option`` is the Hudi option a flag is a shorthand for; ``kind`` says whether the flag takes a
    text, may be repeated as ``key=value``, or takes nothing.
    """

    field: str
    name: str
    help: str
    kind: Literal["text", "pairs", "switch"] = "text"
    option: Option[Any] | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class UpsertRequest:
    """What to write into which table: the flags of ``spark_jobs/upsert.py`` as a value.

    The fields from ``table_name`` to ``partitions_to_delete`` and ``idempotency_key`` are
    shorthands for Hudi options; ``options()`` has all of them merged.
    """

    base_path: str
    source: str | None = None
    table_name: str | None = None
    table_type: str | None = None
    operation: str | None = None
    record_key: str | None = None
    partition_path: str | None = None
    ordering_field: str | None = None
    partitions_to_delete: str | None = None
    source_format: str = "parquet"
    source_options: Mapping[str, str] = field(default_factory=dict)
    sql: str | None = None
    hoodie_conf: Mapping[str, str] = field(default_factory=dict)
    props: str | None = None
    storage_options: Mapping[str, str] = field(default_factory=dict)
    commit_metadata: Mapping[str, str] = field(default_factory=dict)
    idempotency_key: str | None = None
    result_path: str | None = None
    verbose: bool = False

    def options(self) -> dict[str, str]:
        """All options of the request under Hudi's own keys, aliases replaced by the key they mean.

        ``hoodie_conf`` wins over the file ``props``, and a shorthand wins over both.

        Raises:
            OptionError: the file cannot be read, one level gives one option two values, or there
                is no source and the operation needs one.
        """
        merged: dict[str, str] = {}
        if self.props:
            merged |= _canonical(_read_properties(self.props), f"the file {self.props}")
        merged |= _canonical(self.hoodie_conf, "--hoodie-conf")
        merged |= _shorthands(self)
        if self.source is None:
            _check_needs_no_source(merged)
        return merged

    def to_args(self) -> list[str]:
        """The command line that ``from_args`` turns back into this request."""
        return _to_args(self, UPSERT_FLAGS)

    @classmethod
    def from_args(cls, argv: Sequence[str]) -> UpsertRequest:
        """The request a command line asks for; ``--help`` prints the flags and exits.

        Raises:
            OptionError: an unknown flag, a missing one, a pair that is not ``key=value``, or no
                source where the operation needs one.
        """
        found = cls(**_from_args(argv, UPSERT_FLAGS, cls, "Write rows into a Hudi table."))
        if found.source is None:
            found.options()
        return found


UPSERT_FLAGS: tuple[Flag, ...] = (
    Flag(field="base_path", name="--base-path", help="folder or URI of the table"),
    Flag(
        field="source",
        name="--source",
        help="the rows to write: a path, a glob, a comma-separated list of paths, or a table name "
        "in the Spark catalog; not needed to delete partitions that the options name",
    ),
    Flag(
        field="table_name",
        name="--table-name",
        help="name of the table",
        option=write.TABLE_NAME,
    ),
    Flag(
        field="table_type",
        name="--table-type",
        help="COPY_ON_WRITE",
        option=write.TABLE_TYPE,
    ),
    Flag(
        field="operation",
        name="--operation",
        help="upsert, insert, bulk_insert, delete, insert_overwrite, insert_overwrite_table or "
        "delete_partition",
        option=write.OPERATION,
    ),
    Flag(
        field="record_key",
        name="--record-key",
        help="comma-separated columns that name a record",
        option=write.RECORD_KEY_FIELD,
    ),
    Flag(
        field="partition_path",
        name="--partition-path",
        help="comma-separated columns to partition by",
        option=write.PARTITION_PATH_FIELD,
    ),
    Flag(
        field="ordering_field",
        name="--ordering-field",
        help="column whose highest value wins among records of one key",
        option=write.ORDERING_FIELD,
    ),
    Flag(
        field="partitions_to_delete",
        name="--partitions-to-delete",
        help="comma-separated partition paths for delete_partition, * for any characters",
        option=operations.PARTITIONS_TO_DELETE,
    ),
    Flag(
        field="source_format",
        name="--source-format",
        help="format of the source as Spark names it: parquet, csv, json, orc, ...",
    ),
    Flag(
        field="source_options",
        name="--source-option",
        help="option of the Spark reader, may be repeated",
        kind="pairs",
    ),
    Flag(
        field="sql",
        name="--sql",
        help="query over the view named source; its rows are written instead of the source's",
    ),
    Flag(
        field="hoodie_conf",
        name="--hoodie-conf",
        help="Hudi option, may be repeated; wins over --props",
        kind="pairs",
    ),
    Flag(field="props", name="--props", help="local file of Hudi options, Java properties"),
    Flag(
        field="storage_options",
        name="--storage-option",
        help="option of the table's storage, may be repeated",
        kind="pairs",
    ),
    Flag(
        field="commit_metadata",
        name="--commit-metadata",
        help="entry for the commit's extra metadata, may be repeated",
        kind="pairs",
    ),
    Flag(
        field="idempotency_key",
        name="--idempotency-key",
        help="a commit that carries this key is not made twice",
        option=write.IDEMPOTENCY_KEY,
    ),
    Flag(field="result_path", name="--result-path", help="local file for the result, JSON"),
    Flag(
        field="verbose",
        name="--verbose",
        help="Spark's own log and stack traces as well",
        kind="switch",
    ),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class JobResult:
    """What a job did to a table.

    ``instant`` is None when there was nothing to do. ``records`` counts inserted, updated, deleted
    and failed ones; ``seconds`` has ``total`` and one entry per stage,
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

    def as_dict(self) -> dict[str, Any]:
        """The result as plain JSON values, in the order of the fields."""
        plain: dict[str, Any] = {entry.name: getattr(self, entry.name) for entry in fields(self)}
        for name in ("records", "files", "seconds", "stages", "failures"):
            plain[name] = dict(plain[name])
        plain["partitions"] = list(self.partitions)
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
            known["partitions"] = tuple(known.get("partitions", ()))
            return cls(**known)
        except (TypeError, ValueError) as error:
            raise PlatformError(f"this is no result of a pyhudi job: {text[:200]!r}") from error


class _Parser(argparse.ArgumentParser):
    """Argument errors as OptionError, so that a job ends with one message like all others."""

    def error(self, message: str) -> NoReturn:
        raise OptionError(f"{message}; --help lists the flags")


def _to_args(request: object, flags: Sequence[Flag]) -> list[str]:
    args: list[str] = []
    for flag in flags:
        value = getattr(request, flag.field)
        if flag.kind == "switch":
            args += [flag.name] if value else []
        elif flag.kind == "pairs":
            for key, text in value.items():
                args += _flag_and_value(flag.name, f"{key}={text}")
        elif value is not None:
            args += _flag_and_value(flag.name, value)
    return args


def _flag_and_value(name: str, value: str) -> list[str]:
    # Two words read better, but argparse takes a word with a dash in front for the next flag.
    return [f"{name}={value}"] if value.startswith("-") else [name, value]


def _from_args(
    argv: Sequence[str], flags: Sequence[Flag], request: type, description: str
) -> dict[str, Any]:
    required = {
        entry.name
        for entry in fields(request)
        if entry.default is MISSING and entry.default_factory is MISSING
    }
    parser = _Parser(description=description, allow_abbrev=False)
    for flag in flags:
        settings: dict[str, Any] = {"dest": flag.field, "help": flag.help}
        if flag.kind == "switch":
            settings["action"] = "store_true"
        elif flag.kind == "pairs":
            settings |= {"action": "append", "metavar": "KEY=VALUE", "default": []}
        else:
            settings["required"] = flag.field in required
        parser.add_argument(flag.name, **settings)
    parsed = vars(parser.parse_args(list(argv)))
    for flag in flags:
        if flag.kind == "pairs":
            parsed[flag.field] = _pairs(flag.name, parsed[flag.field])
    return {name: value for name, value in parsed.items() if value is not None}


def _pairs(flag: str, texts: Sequence[str]) -> dict[str, str]:
    pairs: dict[str, str] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        if not equals or not key.strip():
            raise OptionError(f"{flag} takes key=value, not {text!r}")
        _put(pairs, key.strip(), value, flag)
    return pairs


def _canonical(level: Mapping[str, str], where: str) -> dict[str, str]:
    named: dict[str, str] = {}
    for key, value in level.items():
        _put(named, canonical_key(key), value, where)
    return named


def _put(pairs: dict[str, str], key: str, value: str, where: str) -> None:
    if pairs.setdefault(key, value) != value:
        raise OptionError(
            f"{where} gives {key} two values, {pairs[key]!r} and {value!r}; keep one of them"
        )


def _shorthands(request: UpsertRequest) -> dict[str, str]:
    given = ((flag.option, getattr(request, flag.field)) for flag in UPSERT_FLAGS)
    return {option.key: value for option, value in given if option and value is not None}


def _check_needs_no_source(options: Mapping[str, str]) -> None:
    is_deletion = operations.OPERATION.read(options) is operations.Operation.DELETE_PARTITION
    if is_deletion and operations.PARTITIONS_TO_DELETE.read(options) is not None:
        return
    raise OptionError(
        "there is no source; name the rows to write with --source, or the partitions that "
        f"{operations.Operation.DELETE_PARTITION.value} takes with --partitions-to-delete"
    )


def _read_properties(path: str) -> dict[str, str]:
    try:
        with open(path, encoding="utf-8") as file:
            return properties.parse(file.read())
    except (OSError, UnicodeDecodeError) as error:
        raise OptionError(f"cannot read the options file {path}: {error}") from error
