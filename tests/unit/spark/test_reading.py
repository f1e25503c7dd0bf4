"""What a data frame is refused for before any Spark is needed."""

from __future__ import annotations

import pytest

from pyhudi.errors import UnsupportedError
from pyhudi.spark.reading import read
from tests.support.golden import golden_table


def test_log_files_are_not_read_into_a_data_frame_yet() -> None:
    with pytest.raises(UnsupportedError, match=r"v6_mor_basic is MERGE_ON_READ.*read_optimized"):
        read(None, golden_table("v6_mor_basic"))
