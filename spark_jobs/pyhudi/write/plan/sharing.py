"""Small pieces of work that share a Spark task. Pure."""

from __future__ import annotations

from collections.abc import Sequence


def share_tasks(
    sizes: Sequence[tuple[int, int]], *, bounds: tuple[int, int]
) -> tuple[tuple[int, ...], ...]:
    """Which pieces of work one task does, by number, in order.

    A task costs some hundredths of a second by itself, which a table of many small partitions would
    pay for each of them. A piece joins its neighbours until one of its two sizes would pass its
    bound; a piece that is larger by itself stays alone.

    Shapes: ``sizes`` has two sizes of each piece of work, ``bounds`` one bound for each of the two.
    """
    tasks: list[list[int]] = []
    first = second = 0
    for number, (one, other) in enumerate(sizes):
        if not tasks or first + one > bounds[0] or second + other > bounds[1]:
            tasks.append([])
            first = second = 0
        tasks[-1].append(number)
        first, second = first + one, second + other
    return tuple(tuple(task) for task in tasks)
