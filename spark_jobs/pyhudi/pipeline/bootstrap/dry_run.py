"""What a bootstrap would do, told and not done."""

from __future__ import annotations

import logging

from pyhudi.config.options.bootstrap import BootstrapMode
from pyhudi.jobs.bootstrap import BOOTSTRAP
from pyhudi.jobs.result import JobResult
from pyhudi.pipeline.bootstrap.plan import BootstrapPlan
from pyhudi.pipeline.stopwatch import Stopwatch

_log = logging.getLogger(__name__)


def planned(plan: BootstrapPlan, watch: Stopwatch) -> JobResult:
    """The answer of a bootstrap that was only to look."""
    for file in plan.source.skipped:
        _log.info("skipped, as others lie in deeper folders: %s", file.path)
    by_partition = plan.by_partition()
    return JobResult(
        status="planned",
        operation=BOOTSTRAP,
        table=plan.target.config.name,
        base_path=plan.target.storage.uri,
        partitions=tuple(sorted(by_partition)),
        files={
            "source": len(plan.source.files),
            "skeletons": sum(len(p.files) for p in plan.of(BootstrapMode.METADATA_ONLY)),
            "skipped": len(plan.source.skipped),
        },
        by_partition=by_partition,
        seconds=watch.seconds(),
        stages=watch.stages(),
        reason="nothing was written: it was only to look",
    )
