"""Which old files are deleted."""

from __future__ import annotations

from enum import Enum

from pyhudi.config import option
from pyhudi.config.option import declare


class CleanPolicy(Enum):
    """What decides which files stay.

    Source: HoodieCleaningPolicy, Hudi 0.15 and 1.1.
    """

    COMMITS = "KEEP_LATEST_COMMITS"
    VERSIONS = "KEEP_LATEST_FILE_VERSIONS"
    HOURS = "KEEP_LATEST_BY_HOURS"


POLICY = declare(
    "hoodie.clean.policy",
    option.parse_enum(CleanPolicy),
    default=CleanPolicy.COMMITS,
    aliases=("hoodie.cleaner.policy",),
)
"""which files stay: those of the latest commits, the latest versions of each file group, or those
of the latest hours; the newest version always does"""
COMMITS_RETAINED = declare(
    "hoodie.clean.commits.retained",
    option.parse_positive,
    default=10,
    aliases=("hoodie.cleaner.commits.retained",),
)
"""latest commits as of which the table can be read after a clean by commits"""
HOURS_RETAINED = declare(
    "hoodie.clean.hours.retained",
    option.parse_positive,
    default=24,
    aliases=("hoodie.cleaner.hours.retained",),
)
"""latest hours as of which the table can be read after a clean by hours"""
