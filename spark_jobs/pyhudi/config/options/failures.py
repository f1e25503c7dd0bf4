"""What a write does about records that cannot be written."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import Enum

from pyhudi.config import option
from pyhudi.config.option import declare, read_settings, setting
from pyhudi.errors import OptionError


class ErrorPolicy(Enum):
    """What becomes of a write when a record of it cannot be written."""

    FAIL = "fail"
    REPORT = "report"


ERROR_POLICY = declare(
    "pyhudi.write.error.policy",
    option.parse_enum(ErrorPolicy),
    default=ErrorPolicy.FAIL,
    since="pyhudi",
)
"""when a record cannot be written: fail and write nothing, or report it and write the others"""
ERROR_PATH = declare(
    "pyhudi.write.error.path", option.parse_optional_text, default=None, since="pyhudi"
)
"""folder or URI outside the table for Parquet files of the reported records"""


@dataclass(frozen=True, slots=True, kw_only=True)
class FailureConfig:
    """What to do about records that cannot be written; ``path`` is None unless they are saved."""

    policy: ErrorPolicy = setting(ERROR_POLICY)
    path: str | None = setting(ERROR_PATH)

    @classmethod
    def from_options(cls, options: Mapping[str, str]) -> FailureConfig:
        """The part of the options that is about failed records.

        Raises:
            OptionError: records are to be reported, and no path says where to.
        """
        found = read_settings(cls, options)
        if not found.is_saving:
            return replace(found, path=None)
        if found.path is None:
            raise OptionError(
                f"{ERROR_POLICY.key} is {found.policy.value}, so failed records are saved; name "
                f"the folder with {ERROR_PATH.key}"
            )
        return found

    @property
    def is_saving(self) -> bool:
        """Whether failed records are saved and the others written."""
        return self.policy is ErrorPolicy.REPORT


def check_error_path(error_path: str | None, table_path: str) -> None:
    """Refuse to save failed records inside the table, whose readers would take them for its files.

    Raises:
        OptionError: the path is that of the table or lies below it.
    """
    if error_path is None:
        return
    if f"{_plain(error_path)}/".startswith(f"{_plain(table_path)}/"):
        raise OptionError(
            f"{ERROR_PATH.key} is {error_path}, which lies in the table at {table_path}; name a "
            "folder outside of it"
        )


def _plain(path: str) -> str:
    local = path.removeprefix("file://").removeprefix("file:")
    return local.rstrip("/") if "://" in local else os.path.abspath(local)
