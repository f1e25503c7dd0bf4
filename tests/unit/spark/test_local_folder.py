"""Where workers put what memory has no room for."""

import pytest

from pyhudi.config.options.logs import MergeMemory
from pyhudi.spark.local_folder import with_local_folder


def test_a_worker_of_spark_uses_sparks_folders(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_LOCAL_DIRS", "/one,/two")
    assert with_local_folder(MergeMemory(limit_bytes=7)).folder in ("/one", "/two")
    assert with_local_folder(MergeMemory(limit_bytes=7)).limit_bytes == 7


def test_a_folder_that_the_query_names_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SPARK_LOCAL_DIRS", "/one")
    named = MergeMemory(folder="/mine")
    assert with_local_folder(named) is named


def test_without_spark_nothing_is_chosen(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("SPARK_LOCAL_DIRS", raising=False)
    assert with_local_folder(MergeMemory()).folder is None
