"""How many rows of a batch go where, before any file is chosen for an insert."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadProfile:
    """Row counts of one batch.

    ``inserts`` counts per partition path the rows whose key lives nowhere; ``updates`` counts per
    (partition path, file id) the rows whose key lives in that file group.
    """

    inserts: Mapping[str, int]
    updates: Mapping[tuple[str, str], int]

    @property
    def partitions(self) -> tuple[str, ...]:
        """Every partition path touched, sorted."""
        return tuple(sorted({*self.inserts, *(partition for partition, _ in self.updates)}))
