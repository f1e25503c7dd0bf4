"""The connection to where tables lie."""

from __future__ import annotations

from pathlib import Path

import pytest

from airflow_provider_pyhudi.hooks.table import PyhudiHook
from tests.support.airflow import timeline_folder


def connect(monkeypatch: pytest.MonkeyPatch, host: str) -> PyhudiHook:
    monkeypatch.setenv("AIRFLOW_CONN_LAKE", f'{{"conn_type": "pyhudi", "host": "{host}"}}')
    return PyhudiHook("lake")


@pytest.mark.parametrize(
    ("path", "uri"),
    [
        pytest.param("flights", "/lake/flights", id="relative"),
        pytest.param("/other/flights", "/other/flights", id="absolute"),
        pytest.param("s3://b/flights", "s3://b/flights", id="a URI"),
    ],
)
def test_a_relative_path_lies_below_the_base_folder(
    monkeypatch: pytest.MonkeyPatch, path: str, uri: str
) -> None:
    assert connect(monkeypatch, "/lake").table_uri(path) == uri


def test_without_a_connection_a_path_stands_for_itself() -> None:
    assert PyhudiHook().table_uri("flights") == "flights"


def test_a_base_folder_that_can_be_listed_passes_the_test(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    timeline_folder(tmp_path / "flights")
    works, message = connect(monkeypatch, str(tmp_path)).test_connection()
    assert works, message
    assert "1 table" in message


def test_a_base_folder_that_is_not_there_fails_the_test(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    works, message = connect(monkeypatch, str(tmp_path / "gone")).test_connection()
    assert not works
    assert "gone" in message
