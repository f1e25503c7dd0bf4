"""Which pieces of work share a task."""

from hypothesis import given
from hypothesis import strategies as st

from pyhudi.write.plan.sharing import share_tasks

_SIZES = st.lists(st.tuples(st.integers(0, 50), st.integers(0, 50)), max_size=40)


def test_neighbours_share_a_task_until_a_bound_would_be_passed() -> None:
    """The second size closes the first task, the first size the second one."""
    sizes = [(1, 5), (1, 5), (1, 1), (9, 1), (2, 1)]
    assert share_tasks(sizes, bounds=(10, 10)) == ((0, 1), (2, 3), (4,))


def test_work_larger_than_a_bound_stays_alone() -> None:
    """It neither joins a task nor lets another join it."""
    assert share_tasks([(1, 1), (99, 1), (1, 1)], bounds=(10, 10)) == ((0,), (1,), (2,))


def test_no_work_makes_no_task() -> None:
    """An empty plan has no tasks."""
    assert share_tasks([], bounds=(1, 1)) == ()


@given(sizes=_SIZES, bounds=st.tuples(st.integers(0, 60), st.integers(0, 60)))
def test_every_piece_is_done_once_and_bounds_hold(
    sizes: list[tuple[int, int]], bounds: tuple[int, int]
) -> None:
    """In order, and no task of several pieces is larger than a bound."""
    tasks = share_tasks(sizes, bounds=bounds)
    assert [number for task in tasks for number in task] == list(range(len(sizes)))
    for task in tasks:
        if len(task) > 1:
            assert sum(sizes[number][0] for number in task) <= bounds[0]
            assert sum(sizes[number][1] for number in task) <= bounds[1]
