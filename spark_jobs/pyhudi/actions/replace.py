"""What a replacecommit says when it is requested.

A clustering puts its plan there; of every other replacecommit the file says nothing.

Source: HoodieRequestedReplaceMetadata and HoodieClusteringPlan, Hudi 0.15 and 1.1;
BaseHoodieWriteClient.startCommit, Hudi 0.15: a record without a single value.
"""

from __future__ import annotations

import posixpath
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pyhudi.actions.container import only_record, record_schema
from pyhudi.actions.file_group import GroupId
from pyhudi.schema.codec import write_container

_NAME = "HoodieRequestedReplaceMetadata"


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestedReplace:
    """The body of the requested file of a replacecommit; ``plan`` is that of a clustering."""

    plan: Mapping[str, Any] | None = None

    @classmethod
    def from_bytes(cls, data: bytes) -> RequestedReplace:
        """What a requested file says, which is nothing when it is empty.

        Raises:
            CorruptTableError: the bytes are no such record.
        """
        if not data:
            return cls()
        with only_record(data, "a requested replacecommit") as found:
            return cls(plan=found.get("clusteringPlan"))

    def to_bytes(self) -> bytes:
        """The body of the requested file."""
        fields = ("operationType", "clusteringPlan", "extraMetadata", "version")
        record = {**dict.fromkeys(fields), "clusteringPlan": self.plan}
        return write_container(record_schema(_NAME), record)

    @property
    def clustered(self) -> frozenset[GroupId] | None:
        """The file groups that the plan of a clustering rewrites; None without such a plan."""
        if self.plan is None:
            return None
        groups = self.plan.get("inputGroups") or ()
        slices = [found for group in groups for found in group.get("slices") or ()]
        return frozenset((found.get("partitionPath") or "", _file_id(found)) for found in slices)


def _file_id(found: Mapping[str, Any]) -> str:
    return found.get("fileId") or posixpath.basename(found.get("dataFilePath") or "").split("_")[0]
