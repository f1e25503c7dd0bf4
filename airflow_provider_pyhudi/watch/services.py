"""Waiting for a table to be looked after: compacted, of few small files, of short logs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from airflow_provider_pyhudi.watch.table import Look, TableView
from pyhudi.config.options.files import SMALL_FILE_LIMIT
from pyhudi.errors import OptionError
from pyhudi.timeline.instant import Action

if TYPE_CHECKING:
    from pyhudi.filegroup.slices import FileSlice

ARGUMENTS = ("max_pending_compactions", "max_small_files", "small_file_limit", "max_log_ratio")


@dataclass(frozen=True, slots=True, kw_only=True)
class ServiceQuestion:
    """Whether what there is to look after lies within bounds; None where there is no bound.

    Units: ``small_file_limit`` in bytes; ``max_log_ratio`` is bytes of log files by those of base
        files.
    """

    max_pending_compactions: int | None = None
    max_small_files: int | None = None
    small_file_limit: int
    max_log_ratio: float | None = None

    @classmethod
    def of(cls, given: Mapping[str, Any]) -> ServiceQuestion:
        """The question that the arguments of a sensor ask.

        Raises:
            OptionError: no bound is given, or one is no number of 0 or more.
        """
        pending, small, limit, ratio = (_number(given, name) for name in ARGUMENTS)
        if pending is None and small is None and ratio is None:
            raise OptionError(
                "nothing is asked of the table; give max_pending_compactions, max_small_files or "
                "max_log_ratio"
            )
        return cls(
            max_pending_compactions=None if pending is None else int(pending),
            max_small_files=None if small is None else int(small),
            small_file_limit=int(SMALL_FILE_LIMIT.default if limit is None else limit),
            max_log_ratio=ratio,
        )

    def answer(self, view: TableView) -> Look:
        """What was measured, once all of it is within its bounds."""
        measured: dict[str, Any] = {
            "pending_compactions": sum(
                each.action is Action.COMPACTION for each in view.timeline.pending()
            )
        }
        if self.max_small_files is not None or self.max_log_ratio is not None:
            measured |= self._of_files(view.slices())
        told = ", ".join(f"{name.replace('_', ' ')} {value}" for name, value in measured.items())
        seen = f"{view.where}: {told}"
        if self._is_within(measured):
            return Look(found=measured, seen=seen)
        return Look(found=None, seen=f"{seen}{self.waiting()}")

    def waiting(self) -> str:
        """What is wanted, behind what was seen."""
        bounds = {
            "pending compactions": self.max_pending_compactions,
            "small files": self.max_small_files,
            "log ratio": self.max_log_ratio,
        }
        told = (f"{name} of {value}" for name, value in bounds.items() if value is not None)
        return f"; waiting for at most {', '.join(told)}"

    def _of_files(self, slices: tuple[FileSlice, ...]) -> dict[str, Any]:
        base = [each.base_file.size_bytes for each in slices if each.base_file is not None]
        logs = sum(log.size_bytes for each in slices for log in each.log_files)
        small = sum(size < self.small_file_limit for size in base)
        # Logs without any base file are as far from compacted as can be; JSON knows no infinity.
        ratio = round(logs / (sum(base) or 1), 4)
        return {"small_files": small, "log_ratio": ratio}

    def _is_within(self, measured: Mapping[str, Any]) -> bool:
        bounds = (
            ("pending_compactions", self.max_pending_compactions),
            ("small_files", self.max_small_files),
            ("log_ratio", self.max_log_ratio),
        )
        return all(bound is None or measured[name] <= bound for name, bound in bounds)


def _number(given: Mapping[str, Any], name: str) -> float | None:
    value = given.get(name)
    if value in (None, "", "None"):
        return None
    try:
        found = float(value)
    except (TypeError, ValueError):
        found = -1.0
    if found < 0:
        raise OptionError(f"{name} is {value!r}; it takes a number of 0 or more")
    return found
