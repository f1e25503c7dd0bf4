"""The slices that a compaction would take."""

from pathlib import Path

from tests.support.console import Shell


def test_a_log_compaction_would_take_other_slices_than_a_compaction(
    pyhudi: Shell, logged: Path
) -> None:
    kind = ("compact", logged, "--dry-run", "--kind", "log_compaction")
    found = pyhudi.json(*kind)
    assert (found["due"], found["slices"]) == (False, 0)
    conf = ("--hoodie-conf", "hoodie.log.compaction.blocks.threshold=2")
    due = pyhudi.json(*kind, *conf)
    done = pyhudi.json("compact", logged, "--kind", "log_compaction", *conf)
    assert (due["due"], due["slices"]) == (True, len(done["partitions"]))
    assert due["reads"] == due["of_which_logs"]
