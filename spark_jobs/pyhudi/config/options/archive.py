"""How many instants stay on the timeline, and when the older ones are archived."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass

from pyhudi.config import option
from pyhudi.config.option import declare, read_settings, setting
from pyhudi.config.options.clean import (
    COMMITS_RETAINED,
    HOURS_RETAINED,
    POLICY_ASKED,
    CleanPolicy,
)
from pyhudi.config.options.compaction import (
    MAX_DELTA_COMMITS,
    MAX_DELTA_SECONDS,
    TRIGGER,
    Trigger,
)
from pyhudi.errors import OptionError

AUTOMATIC = declare("hoodie.archive.automatic", option.parse_bool, default=True)
"""a write that was committed archives the instants that the timeline has too many of"""
MOST_COMMITS = declare("hoodie.keep.max.commits", option.parse_positive, default=30)
"""completed commits on the timeline above which the oldest are archived"""
LEAST_COMMITS = declare("hoodie.keep.min.commits", option.parse_positive, default=20)
"""completed commits that archiving leaves on the timeline; more where a clean keeps the files of
more"""
BATCH = declare("hoodie.commits.archival.batch", option.parse_positive, default=10)
"""files of instants in one block of an archive file"""
BEYOND_SAVEPOINT = declare("hoodie.archive.beyond.savepoint", option.parse_bool, default=False)
"""commits behind a savepoint are archived too, and only the saved ones stay"""
DELETE_PARALLELISM = declare(
    "hoodie.archive.delete.parallelism", option.parse_positive, default=100
)
"""most tasks that delete the files of archived instants"""
FAIL_UNREADABLE = declare("hoodie.fail.on.timeline.archiving", option.parse_bool, default=True)
"""archiving stops at an instant whose file cannot be read; where false it is archived without what
its file says, which Hudi leaves out of the archive altogether"""

_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class ArchiveConfig:
    """Which instants leave the timeline, and how.

    What cleans keep and what makes compactions due is here as well: the commits that these go by
    stay.
    """

    is_automatic: bool = setting(AUTOMATIC)
    most_commits: int = setting(MOST_COMMITS)
    least_commits: int = setting(LEAST_COMMITS)
    batch: int = setting(BATCH)
    is_beyond_savepoint: bool = setting(BEYOND_SAVEPOINT)
    delete_parallelism: int = setting(DELETE_PARALLELISM)
    fails_on_unreadable: bool = setting(FAIL_UNREADABLE)
    clean_policy: CleanPolicy = setting(POLICY_ASKED)
    commits_retained: int = setting(COMMITS_RETAINED)
    hours_retained: int = setting(HOURS_RETAINED)
    trigger: Trigger = setting(TRIGGER)
    max_delta_commits: int = setting(MAX_DELTA_COMMITS)
    max_delta_seconds: int = setting(MAX_DELTA_SECONDS)

    @classmethod
    def from_options(cls, options: Mapping[str, str]) -> ArchiveConfig:
        """What options ask for; fewer commits than cleans keep the files of are warned of.

        Raises:
            OptionError: a value that is not allowed, or no fewer commits to keep than there may be.
        Source: HoodieWriteConfig.Builder.validate, Hudi 0.15 and 1.1.
        """
        found = read_settings(cls, options)
        if found.most_commits <= found.least_commits:
            raise OptionError(
                f"{MOST_COMMITS.key} is {found.most_commits}, which must be greater than "
                f"{LEAST_COMMITS.key}, {found.least_commits}"
            )
        by_commits = found.clean_policy is CleanPolicy.COMMITS
        if by_commits and found.least_commits <= found.commits_retained:
            _log.warning(
                "%s is %d, which should be greater than %s, %d; the commits whose files cleans "
                "keep, and two more, stay on the timeline regardless",
                *(LEAST_COMMITS.key, found.least_commits),
                *(COMMITS_RETAINED.key, found.commits_retained),
            )
        return found
