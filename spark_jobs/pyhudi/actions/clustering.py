"""Which file groups a clustering plan is about to rewrite."""

from __future__ import annotations

import posixpath
from typing import Any

from pyhudi.schema.codec import read_container


def planned_file_groups(requested: bytes) -> frozenset[tuple[str, str]] | None:
    """(partition path, file id) of a plan's input groups; None when the file holds no such plan.

    Source: HoodieRequestedReplaceMetadata and HoodieClusteringPlan, Hudi 0.15: in table version 6 a
    clustering is requested as a replacecommit, told from others by its plan.
    """
    if not requested:
        return None
    records = read_container(requested)
    plan: dict[str, Any] | None = records[0].get("clusteringPlan") if records else None
    if plan is None:
        return None
    slices = [
        piece for group in plan.get("inputGroups") or () for piece in group.get("slices") or ()
    ]
    return frozenset((piece.get("partitionPath") or "", _file_id(piece)) for piece in slices)


def _file_id(piece: dict[str, Any]) -> str:
    return piece.get("fileId") or posixpath.basename(piece.get("dataFilePath") or "").split("_")[0]
