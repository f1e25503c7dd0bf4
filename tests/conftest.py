"""What holds for all tests."""

import gc

from hypothesis import settings

# How long an example takes says more about what else the machine does than about the code.
settings.register_profile("untimed", deadline=None)
settings.load_profile("untimed")


def pytest_collection_finish() -> None:
    """Leave modules and thousands of collected tests out of each later collection of garbage."""
    gc.collect()
    gc.freeze()
