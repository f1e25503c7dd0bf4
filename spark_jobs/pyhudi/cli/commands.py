"""The commands of ``pyhudi``: their names, their flags, and what gathers the answer of each."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

from pyhudi.cli.plans.archive import archive_plan
from pyhudi.cli.plans.clean import clean_plan
from pyhudi.cli.plans.compaction import compaction_plan
from pyhudi.cli.plans.savepoint import savepoint_plan
from pyhudi.cli.plans.undo import restore_plan, rollback_plan
from pyhudi.cli.report import Report
from pyhudi.cli.reports.description import options, schema
from pyhudi.cli.reports.files import files
from pyhudi.cli.reports.instant import diff, show
from pyhudi.cli.reports.lock import break_lock, show_lock
from pyhudi.cli.reports.rows import count, head
from pyhudi.cli.reports.services import Service, pairs_of, required_of, switches_of
from pyhudi.cli.reports.stats import stats
from pyhudi.cli.reports.timeline import commits, timeline
from pyhudi.cli.reports.validation import validate
from pyhudi.cli.reports.version import downgrade, upgrade
from pyhudi.config.option import parse_int
from pyhudi.config.read import QueryType
from pyhudi.flags import SECRETS_VARIABLE, Flag, FlagParser
from pyhudi.jobs.archive import ArchiveRequest
from pyhudi.jobs.clean import CleanRequest
from pyhudi.jobs.compaction import CompactionRequest
from pyhudi.jobs.restore import RestoreRequest
from pyhudi.jobs.rollback import RollbackRequest
from pyhudi.jobs.savepoint import SavepointRequest
from pyhudi.pipeline.archive import archive_table
from pyhudi.pipeline.clean import clean_table
from pyhudi.pipeline.compaction import compact_table
from pyhudi.pipeline.undo.restore import restore_table
from pyhudi.pipeline.undo.rollback import rollback_table
from pyhudi.pipeline.undo.savepoint import savepoint_table
from pyhudi.timeline.instant import Action

Gather: TypeAlias = Callable[[argparse.Namespace], Report]
AddFlags: TypeAlias = Callable[[argparse.ArgumentParser], None]

_HELP = """\
What an Apache Hudi table has and how it is, without Spark and without a JVM.

looking:    timeline commits show diff files stats schema options
reading:    head count
checking:   validate plan
services:   clean archive compact rollback savepoint restore
versions:   upgrade downgrade
writers:    lock

`pyhudi COMMAND --help` tells of one. In a terminal an answer is a table, in a pipe
aligned text, and with --json one JSON object that has the same facts."""
_EPILOG = f"""\
examples:
  pyhudi timeline /data/flights
  pyhudi show /data/flights 20260102030405678
  pyhudi validate s3://lake/flights --storage-option region=eu-central-1 --json

Storage options that are secret belong in the environment variable {SECRETS_VARIABLE}:
  {{"storage_options": {{"access_key": "...", "secret_key": "..."}}}}

exit codes: 0 done; 1 validate found something, or lock show a holder; 2 the request is
wrong, or the table damaged; 3 another writer was there first; 4 the surroundings failed;
5 an error of pyhudi's own."""
_AS_OF = (
    "the table as it was at an instant or time, such as 20260102030405678 or '2026-01-02 03:04', "
    "in the zone of the table's timeline"
)

SERVICES: Mapping[str, tuple[Service, str]] = {
    "clean": (
        Service(request=CleanRequest, run=clean_table, plan=clean_plan),
        "delete the files that no retained instant needs",
    ),
    "archive": (
        Service(request=ArchiveRequest, run=archive_table, plan=archive_plan),
        "move old instants from the timeline to the archive",
    ),
    "compact": (
        Service(request=CompactionRequest, run=compact_table, plan=compaction_plan, is_commit=True),
        "plan and run a compaction of log files",
    ),
    "rollback": (
        Service(request=RollbackRequest, run=rollback_table, plan=rollback_plan),
        "take the latest write back, or one that did not complete",
    ),
    "savepoint": (
        Service(request=SavepointRequest, run=savepoint_table, plan=savepoint_plan),
        "keep the files of a write from every service; list and delete savepoints",
    ),
    "restore": (
        Service(request=RestoreRequest, run=restore_table, plan=restore_plan),
        "take the table back to a savepoint; all that came after it is undone",
    ),
}
"""The services that are commands, one entry each."""
PLANS: Mapping[str, tuple[str, str]] = {
    "clean": ("clean", "the files that a clean would delete, by partition"),
    "compaction": ("compact", "the slices that a compaction would take"),
    "archive": ("archive", "the instants that would be archived"),
}
"""What ``pyhudi plan`` knows: the service whose dry run it is, and a line for the list."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """One command: what gathers its answer, a line for the list, and the flags of its own."""

    gather: Gather
    line: str
    add_flags: AddFlags


def whole_number(text: str) -> int:
    """A number of a flag, as argparse takes it.

    Raises:
        ArgumentTypeError: it is none.
    """
    try:
        return parse_int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no whole number, 0 or greater") from None


def _looks_back(parser: argparse.ArgumentParser) -> None:
    _limit(parser, 30, "the newest so many; 0 for all")
    parser.add_argument(
        "--archived", action="store_true", help="those too that have left the timeline"
    )


def _timeline_flags(parser: argparse.ArgumentParser) -> None:
    _looks_back(parser)
    parser.add_argument("--pending", action="store_true", help="only what has not completed")
    parser.add_argument(
        "--action",
        action="append",
        choices=sorted(action.value for action in Action),
        metavar="ACTION",
        help="only instants of this action, as in file names; may be repeated",
    )


def _show_flags(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "instant", metavar="INSTANT", help="its digits, or its time with milliseconds"
    )


def _diff_flags(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "first", metavar="A", help="an instant or a time; what came after it counts"
    )
    parser.add_argument("last", metavar="B", help="an instant or a time; what came up to it counts")


def _files_flags(parser: argparse.ArgumentParser) -> None:
    _limit(parser, 50, "the first so many slices; 0 for all")
    parser.add_argument("--as-of", metavar="INSTANT", help=_AS_OF)
    parser.add_argument(
        "--partition", action="append", metavar="PATH", help="only this one; may be repeated"
    )


def _stats_flags(parser: argparse.ArgumentParser) -> None:
    _limit(parser, 5, "so many of the costliest writes; 0 for all")
    _conf(parser)


def _schema_flags(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--as-of", metavar="INSTANT", help=_AS_OF)
    parser.add_argument("--meta", action="store_true", help="the five meta columns too")


def _options_flags(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--find", metavar="WORD", help="only properties with this word, and what options mean"
    )


def _read_flags(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--as-of", metavar="INSTANT", help=_AS_OF)
    parser.add_argument(
        "--query-type",
        default=QueryType.SNAPSHOT.value,
        choices=(QueryType.SNAPSHOT.value, QueryType.READ_OPTIMIZED.value),
        metavar="TYPE",
        help="snapshot, or read_optimized: base files alone",
    )
    parser.add_argument(
        "--custom-merger", metavar="CLASS", help="the merger in Python that the table names"
    )


def _head_flags(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "-n", "--rows", type=whole_number, default=10, metavar="N", help="so many rows (10)"
    )
    parser.add_argument("--columns", metavar="A,B", help="only these columns")
    parser.add_argument("--meta", action="store_true", help="the five meta columns too")
    _read_flags(parser)


def _count_flags(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--by-partition", action="store_true", help="and for each partition")
    _read_flags(parser)


def _conf(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--hoodie-conf",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help="Hudi option; may be repeated",
    )


def _break_flags(parser: argparse.ArgumentParser) -> None:
    _conf(parser)
    parser.add_argument("--yes", action="store_true", help="do not ask")
    parser.add_argument(
        "--force", action="store_true", help="although the holder seems to live; it cannot commit"
    )


def _version_flags(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--to", required=True, choices=("6", "8", "9"), metavar="VERSION", help="6, 8 or 9"
    )
    parser.add_argument(
        "--dry-run", action="store_true", help="say which properties would change, and change none"
    )
    _conf(parser)


def _validate_flags(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--no-keys", action="store_true", help="leave record keys and the rows of log files unread"
    )
    parser.add_argument(
        "--unique-keys",
        action="store_true",
        help="a key that comes twice in a partition is an error also where inserts may keep "
        "duplicates",
    )
    parser.add_argument(
        "--archived",
        action="store_true",
        help="hold files against the archived commits too, which reads the whole archive",
    )


COMMANDS: Mapping[str, Command] = {
    "timeline": Command(
        gather=timeline,
        line="what happened, when, how long it took, rows, bytes, and which DAG run asked",
        add_flags=_timeline_flags,
    ),
    "commits": Command(
        gather=commits, line="completed writes and the files they wrote", add_flags=_looks_back
    ),
    "show": Command(gather=show, line="all that one instant says", add_flags=_show_flags),
    "diff": Command(
        gather=diff, line="what was written between two instants", add_flags=_diff_flags
    ),
    "files": Command(
        gather=files, line="the file slices: base files, log files, sizes", add_flags=_files_flags
    ),
    "stats": Command(
        gather=stats,
        line="sizes of files, small files, write amplification, what services would do",
        add_flags=_stats_flags,
    ),
    "schema": Command(
        gather=schema, line="the columns, and how they changed", add_flags=_schema_flags
    ),
    "options": Command(
        gather=options, line="hoodie.properties, and what options mean", add_flags=_options_flags
    ),
    "head": Command(gather=head, line="a few rows", add_flags=_head_flags),
    "count": Command(
        gather=count, line="how many rows there are, by footers where exact", add_flags=_count_flags
    ),
    "validate": Command(
        gather=validate,
        line="whether every file is there and whole, every key once, and nothing orphaned",
        add_flags=_validate_flags,
    ),
}


VERSIONS: Mapping[str, Command] = {
    "upgrade": Command(
        gather=upgrade, line="give the table a newer format version", add_flags=_version_flags
    ),
    "downgrade": Command(
        gather=downgrade, line="give the table an older format version", add_flags=_version_flags
    ),
}
"""What changes the version of a table's format."""


LOCKS: Mapping[str, Command] = {
    "show": Command(
        gather=show_lock, line="who holds the lock, since when and until when", add_flags=_conf
    ),
    "break": Command(
        gather=break_lock,
        line="take the lock from a holder that is gone and does not give it back",
        add_flags=_break_flags,
    ),
}
"""What ``pyhudi lock`` does."""


def command_parser() -> FlagParser:
    """The parser of the whole command line; what it gives has ``gather``."""
    parser = FlagParser(
        prog="pyhudi",
        description=_HELP,
        epilog=_EPILOG,
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    # A shorter word would leave the longest names no room on their lines.
    found = parser.add_subparsers(metavar="COMMAND TABLE", required=True, title="commands")
    for name, command in {**COMMANDS, **VERSIONS}.items():
        own = _with_table(found, name, command.line)
        command.add_flags(own)
        _finish(own, command.gather)
    plan = found.add_parser("plan", help="what a service would do now", allow_abbrev=False)
    plans = plan.add_subparsers(metavar="SERVICE TABLE", required=True, title="services")
    for name, (planned, line) in PLANS.items():
        own, (service, _) = _with_table(plans, name, line), SERVICES[planned]
        _conf(own)
        own.set_defaults(dry_run=True)
        _add_flags(own, service, service.plan_flags)
        _finish(own, service.report)
    lock = found.add_parser("lock", help="the lock that writers take", allow_abbrev=False)
    locks = lock.add_subparsers(metavar="VERB TABLE", required=True, title="verbs")
    for name, command in LOCKS.items():
        own = _with_table(locks, name, command.line)
        command.add_flags(own)
        _finish(own, command.gather)
    for name, (service, line) in SERVICES.items():
        own = _with_table(found, name, line)
        _conf(own)
        if service.plan is not None:
            own.add_argument(
                "--dry-run", action="store_true", help="only say what would be done now"
            )
        _add_flags(own, service, service.flags)
        _finish(own, service.report)
    return parser


def _with_table(found: argparse._SubParsersAction[FlagParser], name: str, line: str) -> FlagParser:
    own = found.add_parser(
        name, help=line, description=f"{line[0].upper()}{line[1:]}.", allow_abbrev=False
    )
    own.add_argument("table", metavar="TABLE", help="the folder or URI of the table")
    return own


def _finish(parser: argparse.ArgumentParser, gather: Gather) -> None:
    parser.add_argument(
        "--storage-option",
        action="append",
        default=[],
        metavar="KEY=VALUE",
        help=f"option of the table's storage; may be repeated, secrets go to {SECRETS_VARIABLE}",
    )
    parser.add_argument("--json", action="store_true", help="one JSON object, for machines")
    parser.add_argument("--verbose", action="store_true", help="the engine's log and stack traces")
    parser.set_defaults(gather=gather)


def _add_flags(
    parser: argparse.ArgumentParser, service: Service, flags: Mapping[str, Flag]
) -> None:
    """Flags that the service's job has too."""
    pairs, switches = pairs_of(service.request), switches_of(service.request)
    for name, flag in flags.items():
        settings: dict[str, Any] = {"dest": name, "help": flag.help}
        if name in pairs:
            settings |= {"action": "append", "default": [], "metavar": "KEY=VALUE"}
        elif name in switches:
            settings["action"] = "store_true"
        else:
            settings |= {"metavar": "VALUE", "required": name in required_of(service.request)}
        parser.add_argument(flag.name, **settings)


def _limit(parser: argparse.ArgumentParser, default: int, what: str) -> None:
    parser.add_argument(
        "--limit",
        type=whole_number,
        default=default,
        metavar="N",
        help=f"{what} ({default} unless given)",
    )
