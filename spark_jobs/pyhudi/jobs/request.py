"""A frozen request to a job: what every kind of it has.

A request knows its job: the script that runs it, what results call it, and what an earlier try of
it has left on the timeline.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, ClassVar, Literal, TypeAlias, TypeVar

from pyhudi.config.options import operations, table
from pyhudi.flags import SECRETS_VARIABLE, Flag, from_args, merged_options, to_args

RESULT_MARKER = "PYHUDI_RESULT "
FAILURE_MARKER = "PYHUDI_FAILED "
APPLICATION_MARKER = ", as application "
"""Stands before the id of Spark's application in a line of the job's log."""

Trace = Literal["commit", "plan", "none"]
"""What a job that has succeeded leaves on the timeline, with the idempotency key of its request.

It is nothing where doing it again does no harm.
"""
R = TypeVar("R", bound="Request")


SlotKey: TypeAlias = Annotated[
    str | None,
    Flag(
        help="which part of the source this is, such as a day: commits that carry this text "
        "are of the same part, whichever request made them",
        option=operations.SLOT,
    ),
]
OnExistingFlag: TypeAlias = Annotated[
    str | None,
    Flag(
        help="what to do where a commit of the same part is there: append, reuse or replace",
        option=operations.ON_EXISTING,
    ),
]
SlotSince: TypeAlias = Annotated[
    str | None,
    Flag(
        help="a time before anybody can have written this part of the source",
        option=operations.SLOT_SINCE,
    ),
]


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What to do to which table: the flags of a job script as a value.

    Fields whose flag has an option are shorthands for it; ``options()`` has all of them merged.
    ``script`` is the job script without ``.py``, ``purpose`` what its ``--help`` begins with.
    """

    script: ClassVar[str]
    purpose: ClassVar[str]

    base_path: Annotated[str, Flag(help="folder or URI of the table")]
    hoodie_conf: Annotated[
        Mapping[str, str], Flag(help="Hudi option, may be repeated; wins over --props")
    ] = field(default_factory=dict, repr=False)
    props: Annotated[str | None, Flag(help="local file of Hudi options, Java properties")] = None
    storage_options: Annotated[
        Mapping[str, str],
        Flag(
            name="--storage-option",
            help="option of the table's storage, may be repeated; secrets go to the environment "
            f"variable {SECRETS_VARIABLE}",
        ),
    ] = field(default_factory=dict, repr=False)
    commit_metadata: Annotated[
        Mapping[str, str], Flag(help="entry for the commit's extra metadata, may be repeated")
    ] = field(default_factory=dict)
    idempotency_key: Annotated[
        str | None,
        Flag(help="a commit that carries this key is not made twice", option=table.IDEMPOTENCY_KEY),
    ] = None
    idempotency_since: Annotated[
        str | None,
        Flag(
            help="a time before the first try of what the key stands for: commits that were "
            "archived since then are looked through for it too",
            option=table.IDEMPOTENCY_SINCE,
        ),
    ] = None
    result_path: Annotated[str | None, Flag(help="local file for the result, JSON")] = None
    verbose: Annotated[bool, Flag(help="Spark's own log and stack traces as well")] = False

    @property
    def operation_name(self) -> str:
        """What the result calls the operation."""
        raise NotImplementedError

    @property
    def trace(self) -> Trace:
        """What an earlier try that succeeded is recognised by."""
        return "commit"

    def options(self) -> dict[str, str]:
        """All options of the request under Hudi's own keys, aliases replaced by the key they mean.

        ``hoodie_conf`` wins over the file ``props``, and a shorthand wins over both.

        Raises:
            OptionError: the file cannot be read, or one level gives one option two values.
        """
        return merged_options(self)

    def check(self) -> None:
        """Refuse what no table can mend.

        Raises:
            OptionError: says what.
        """

    def to_args(self) -> list[str]:
        """The command line that ``from_args`` turns back into this request, secrets left out.

        Raises:
            OptionError: a text has a password in a URI.
        """
        return to_args(self)

    @classmethod
    def from_args(cls: type[R], argv: Sequence[str]) -> R:
        """The request a command line asks for; ``--help`` prints the flags and exits.

        Raises:
            OptionError: an unknown flag, a missing one, a pair that is not ``key=value``, or what
                ``check`` refuses.
        """
        found = cls(**from_args(argv, cls, cls.purpose))
        found.check()
        return found


def spelled(name: str, allowed: Sequence[str]) -> str:
    """The allowed name that has these letters, whatever its capitals, underscores and dashes."""
    by_letters = {each.replace("_", ""): each for each in allowed}
    letters = name.strip().lower().replace("_", "").replace("-", "")
    return by_letters.get(letters, name)
