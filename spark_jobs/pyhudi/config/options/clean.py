"""Which old files are deleted, when, and when dead writes are undone."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from pyhudi.config import option
from pyhudi.config.option import declare, setting


class CleanPolicy(Enum):
    """What decides which files stay.

    Source: HoodieCleaningPolicy, Hudi 0.15 and 1.1.
    """

    COMMITS = "KEEP_LATEST_COMMITS"
    VERSIONS = "KEEP_LATEST_FILE_VERSIONS"
    HOURS = "KEEP_LATEST_BY_HOURS"

    @property
    def counts_instants(self) -> bool:
        """Whether what stays goes by instants, rather than by versions of each file group."""
        return self is not CleanPolicy.VERSIONS


class FailedWritesPolicy(Enum):
    """Who undoes writes that died.

    Source: HoodieFailedWritesCleaningPolicy, Hudi 0.15 and 1.1.
    """

    EAGER = "EAGER"
    LAZY = "LAZY"
    NEVER = "NEVER"


class CleanTrigger(Enum):
    """What makes a clean due.

    Source: CleaningTriggerStrategy, Hudi 0.15 and 1.1.
    """

    NUM_COMMITS = "NUM_COMMITS"


AUTOMATIC = declare("hoodie.clean.automatic", option.parse_bool, default=True)
"""a write that was committed deletes what the policy of cleaning does not keep"""
POLICY = declare(
    "hoodie.clean.policy",
    option.parse_enum(CleanPolicy),
    default=CleanPolicy.COMMITS,
    aliases=("hoodie.cleaner.policy",),
)
"""which files stay: those of the latest commits, the latest versions of each file group, or those
of the latest hours; the newest version always does. Where it is left out and one of commits, hours
and file versions alone is given a number, it is the policy that goes by that"""
COMMITS_RETAINED = declare(
    "hoodie.clean.commits.retained",
    option.parse_positive,
    default=10,
    aliases=("hoodie.cleaner.commits.retained",),
)
"""latest commits as of which the table can be read after a clean by commits"""
VERSIONS_RETAINED = declare(
    "hoodie.clean.fileversions.retained",
    option.parse_positive,
    default=3,
    aliases=("hoodie.cleaner.fileversions.retained",),
)
"""latest versions of each file group that a clean by file versions keeps"""
HOURS_RETAINED = declare(
    "hoodie.clean.hours.retained",
    option.parse_positive,
    default=24,
    aliases=("hoodie.cleaner.hours.retained",),
)
"""latest hours as of which the table can be read after a clean by hours"""
_RETAINED = {
    CleanPolicy.COMMITS: COMMITS_RETAINED,
    CleanPolicy.HOURS: HOURS_RETAINED,
    CleanPolicy.VERSIONS: VERSIONS_RETAINED,
}
"""What tells each policy how much it keeps."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _PolicyAsked:
    """The policy that options name, or else the only one that they tell how much it keeps.

    Source: HoodieCleanConfig.CLEANER_POLICY, Hudi 0.15 and 1.1.
    """

    default: CleanPolicy = POLICY.default

    def read(self, options: Mapping[str, str], /) -> CleanPolicy:
        """The policy.

        Raises:
            OptionError: there is none of the name.
        """
        if POLICY.is_given(options):
            return POLICY.read(options)
        told = [policy for policy, retained in _RETAINED.items() if retained.is_given(options)]
        return told[0] if len(told) == 1 else self.default


POLICY_ASKED = _PolicyAsked()

TRIGGER = declare(
    "hoodie.clean.trigger.strategy",
    option.parse_enum(CleanTrigger),
    default=CleanTrigger.NUM_COMMITS,
)
"""what makes a clean due"""
TRIGGER_COMMITS = declare(
    "hoodie.clean.trigger.max.commits",
    option.parse_positive,
    default=1,
    aliases=("hoodie.clean.max.commits",),
)
"""commits since the last clean that make the next one due"""
INCREMENTAL = declare(
    "hoodie.clean.incremental.enabled",
    option.parse_bool,
    default=True,
    aliases=("hoodie.cleaner.incremental.mode",),
)
"""a clean by commits or hours looks only into partitions written since the last one"""
MULTIPLE = declare(
    "hoodie.clean.multiple.enabled",
    option.parse_bool,
    default=False,
    aliases=("hoodie.clean.allow.multiple",),
)
"""a clean may be planned while another is planned and not done"""
PARALLELISM = declare(
    "hoodie.clean.parallelism",
    option.parse_positive,
    default=200,
    aliases=("hoodie.cleaner.parallelism",),
)
"""most tasks that delete the files of a clean"""
FAILED_WRITES = declare(
    "hoodie.clean.failed.writes.policy",
    option.parse_enum(FailedWritesPolicy),
    default=FailedWritesPolicy.EAGER,
    aliases=("hoodie.cleaner.policy.failed.writes",),
)
"""who undoes writes that died: the next write, the next clean, or nobody; one whose heartbeat is
fresh is left alone by all. Where several write at once it is LAZY without it, and EAGER is
refused"""

DELETE_SOURCES = declare(
    "hoodie.clean.delete.bootstrap.base.file",
    option.parse_bool,
    default=False,
    aliases=("hoodie.cleaner.delete.bootstrap.base.file",),
)
"""a clean of a bootstrapped table also deletes the files outside it whose rows it has rewritten"""


@dataclass(frozen=True, slots=True, kw_only=True)
class CleanConfig:
    """Which old files are deleted, and when.

    Units: ``trigger_commits`` and ``commits_retained`` in commits.
    """

    is_automatic: bool = setting(AUTOMATIC)
    policy: CleanPolicy = setting(POLICY_ASKED)
    commits_retained: int = setting(COMMITS_RETAINED)
    versions_retained: int = setting(VERSIONS_RETAINED)
    hours_retained: int = setting(HOURS_RETAINED)
    trigger: CleanTrigger = setting(TRIGGER)
    trigger_commits: int = setting(TRIGGER_COMMITS)
    is_incremental: bool = setting(INCREMENTAL)
    allows_several: bool = setting(MULTIPLE)
    parallelism: int = setting(PARALLELISM)
    failed_writes: FailedWritesPolicy = setting(FAILED_WRITES)
    deletes_sources: bool = setting(DELETE_SOURCES)
