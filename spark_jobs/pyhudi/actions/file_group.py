"""What a file group is called."""

from __future__ import annotations

from typing import TypeAlias

GroupId: TypeAlias = tuple[str, str]
"""Partition path and file id."""
