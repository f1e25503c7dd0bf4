"""What several writers came to: figures of their upserts, the table, the chart."""

from benchmarks.contest_figures import contest_panels, contests_table, figures

UPSERTS = [
    {"began": 100.0, "ended": 101.0, "conflicts": 0, "locks": 2, "lock_wait_seconds": 0.1},
    {"began": 100.5, "ended": 103.5, "conflicts": 2, "locks": 4, "lock_wait_seconds": 0.5},
    {"began": 101.0, "ended": 104.0, "refused": "others were first"},
]


def line(case: str, writers: int, per_second: float, **more: object) -> dict[str, object]:
    about = {"engine": "pyhudi", "step": f"{case}, {writers}", "run": 1, "seconds": 1.0}
    told = {"commits_per_second": per_second, "median_seconds": 0.5, "again_each": 0.0}
    state = {"tries_again": 0, "failed": 0, "is_right": True, "anomalies": 0}
    return {**about, **told, **state, **more}


def test_figures_count_what_was_committed_from_the_first_beginning_to_the_last_end() -> None:
    found = figures(UPSERTS)
    assert (found["seconds"], found["commits"], found["failed"]) == (4.0, 2, 1)
    assert found["commits_per_second"] == 0.5
    assert (found["tries_again"], found["again_each"]) == (2, 1.0)
    assert (found["median_seconds"], found["locks"], found["lock_wait_seconds"]) == (2.0, 3.0, 0.3)
    assert found["first_refusal"] == "others were first"


def test_a_table_that_is_wrong_in_one_run_is_told() -> None:
    lines = [
        line("disjoint", 1, 2.0),
        line("disjoint", 1, 4.0, is_right=False),
        line("disjoint", 2, 6.0, anomalies=1),
        line("overlapping", 2, 5.0, lock_wait_seconds=0.25, lock_held_seconds=0.5),
    ]
    rows = contests_table(lines, [lines[0], *lines[2:]])
    head = rows[0]
    assert [row[head.index("commits/s")] for row in rows[1:]] == ["2.00", "6.00", "5.00"]
    assert [row[-1] for row in rows[1:]] == ["no", "no", "yes"]
    assert [row[head.index("lock wait s")] for row in rows[1:]] == ["-", "-", "0.250"]


def test_the_chart_has_the_points_of_each_engine_and_case_over_the_writers() -> None:
    panels = dict(contest_panels([line("disjoint", 1, 2.0), line("disjoint", 8, 9.0)]))
    assert panels["commits per second"] == {"pyhudi, disjoint": [(1.0, 2.0), (8.0, 9.0)]}
    assert "seconds waited for locks, per commit" not in panels
