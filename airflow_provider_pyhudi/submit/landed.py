"""What a submission, or an earlier try of it, has done: by its table, or by the file it left."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

from airflow_provider_pyhudi.hooks.table import PyhudiHook
from pyhudi.jobs.request import Request
from pyhudi.jobs.result import JobResult


def find(request: Request, tables: PyhudiHook) -> JobResult | None:
    """What an earlier try of this execution has done to the table."""
    path, key, operation = request.base_path, request.idempotency_key, request.operation_name
    match request.trace:
        case "none":
            return None
        case "plan":
            return tables.find_plan(path, key, operation=operation)
        case _:
            since = request.idempotency_since
            return tables.find_commit(path, key, operation=operation, since=since)


def made(request: Request, tables: PyhudiHook) -> JobResult | None:
    """What the submission that has just ended did to the table."""
    found = find(request, tables)
    is_landed = found is not None and found.status == "already_committed"
    return replace(found, status="committed") if found and is_landed else found


def published(result_path: str | None) -> JobResult | None:
    """The result that a job left in its file."""
    if result_path is None or not os.path.exists(result_path):
        return None
    return JobResult.from_json(Path(result_path).read_text(encoding="utf-8"))
