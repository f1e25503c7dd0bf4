"""Which services of a table run after a write."""

from __future__ import annotations

from dataclasses import dataclass

from pyhudi.config import option
from pyhudi.config.option import declare, part, setting
from pyhudi.config.options.archive import ArchiveConfig
from pyhudi.config.options.clean import CleanConfig

ENABLED = declare("hoodie.table.services.enabled", option.parse_bool, default=True)
"""a write runs the services that its other options ask for: cleaning, archiving and compaction"""
ROLLBACK_PARALLELISM = declare("hoodie.rollback.parallelism", option.parse_positive, default=100)
"""most tasks that delete the files of a rollback or restore"""


@dataclass(frozen=True, slots=True, kw_only=True)
class ServicesConfig:
    """What keeps a table in order after a write, apart from compaction."""

    is_enabled: bool = setting(ENABLED)
    rollback_parallelism: int = setting(ROLLBACK_PARALLELISM)
    clean: CleanConfig = part(CleanConfig)
    archive: ArchiveConfig = part(ArchiveConfig)
