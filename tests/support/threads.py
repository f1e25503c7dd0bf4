"""Threads that all want the same at once."""

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from pyhudi.errors import AlreadyExistsError


def only_winner(count: int, create: Callable[[int], object]) -> int:
    """The number of the one thread that does not find what it creates already there."""
    barrier = threading.Barrier(count)

    def wins(number: int) -> bool:
        barrier.wait()
        try:
            create(number)
        except AlreadyExistsError:
            return False
        return True

    with ThreadPoolExecutor(count) as pool:
        (winner,) = [number for number, won in enumerate(pool.map(wins, range(count))) if won]
    return winner
