"""Who is shown which table, and how the page's addresses answer, without a server."""

import json
from pathlib import Path
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from airflow_provider_pyhudi.page import app, places, runs
from airflow_provider_pyhudi.page.plugin import PyhudiPlugin
from tests.support.lake import busy, hostile, stamp

RUN = stamp("flights", 12)


class Rights:
    """A user for whom the tests decide."""

    def __init__(self, *, connections: tuple[str, ...] = (), dags: tuple[str, ...] = ()) -> None:
        self.connections, self.dags = connections, dags

    def may_read_connection(self, conn_id: str) -> bool:
        return conn_id in self.connections

    def may_read_runs(self, dag_id: str) -> bool:
        return dag_id in self.dags


@pytest.fixture(scope="module")
def tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("lake")
    busy(folder / "busy")
    hostile(folder / "hostile")
    return folder


@pytest.fixture
def lake(tables: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A connection called lake, a listed table, and an Airflow that has every run."""
    monkeypatch.setenv(
        "AIRFLOW_CONN_LAKE", json.dumps({"conn_type": "pyhudi", "host": str(tables)})
    )
    monkeypatch.setenv("AIRFLOW__PYHUDI__PAGE_TABLES", json.dumps({"listed": str(tables / "busy")}))
    monkeypatch.setattr(places, "_connections", lambda: ["lake"])
    monkeypatch.setattr(runs, "_known", lambda identities: set(identities))
    return tables


def client(rights: Rights) -> TestClient:
    made = app.pages()
    made.dependency_overrides[app.rights] = lambda: rights
    return within_airflow(made)


def within_airflow(made: FastAPI) -> TestClient:
    """The page where an Airflow below /af mounts it."""
    outer = FastAPI(root_path="/af")
    outer.mount("/pyhudi", made)
    base = "http://testserver/af/pyhudi"
    return TestClient(outer, base_url=base, raise_server_exceptions=False)


def text(rights: Rights, path: str, **query: str) -> str:
    answer = client(rights).get(path, params=query)
    assert answer.status_code == 200, answer.text
    return answer.text


def test_listed_tables_are_for_all_who_may_read_assets(lake: Path) -> None:
    shown = text(Rights(), "/")
    assert "listed" in shown
    assert "hostile" not in shown
    assert text(Rights(), "/table", name="listed").count("upsert") > 5


def test_tables_of_a_connection_are_for_who_may_read_it(lake: Path) -> None:
    may, may_not = Rights(connections=("lake",)), Rights()
    assert "hostile" in text(may, "/")
    for path in ("/table", "/table/files", "/table/services", "/table/damage"):
        assert text(may, path, conn="lake", name="busy")
        assert client(may_not).get(path, params={"conn": "lake", "name": "busy"}).status_code == 404


def test_a_run_is_named_to_who_may_read_runs_of_its_dag(lake: Path) -> None:
    may, may_not = Rights(dags=("flights",)), Rights()
    assert RUN["airflow.run_id"] in text(may, "/table", name="listed")
    hidden = text(may_not, "/table", name="listed")
    assert "a run that you may not see" in hidden
    assert RUN["airflow.run_id"] not in hidden
    at = next(iter((lake / "busy" / ".hoodie").glob("*.commit"))).name.split(".")[0]
    for rights, is_told in ((may, True), (may_not, False)):
        shown = text(rights, "/instant", name="listed", at=at)
        assert ("flights" in shown) is is_told
        assert ("backfill__" in shown) is is_told
    asked = {"dag_id": "flights", "run_id": RUN["airflow.run_id"]}
    assert client(may_not).get("/run", params=asked).status_code == 403


def test_addresses_keep_the_prefix_that_airflow_lies_below(lake: Path) -> None:
    shown = text(Rights(dags=("flights",)), "/table", name="listed")
    assert 'href="/af/pyhudi/static/page.css"' in shown
    assert 'href="/af/dags/flights/runs/backfill__2013-12-01T00%3A00%3A00%2B00%3A00' in shown


def test_a_path_finds_a_table_that_is_shown_and_no_other(lake: Path) -> None:
    asked = client(Rights())
    for path in (f"{lake}/busy", f"{lake}//busy/", f"file://{lake}/busy"):
        found = asked.get("/find", params={"table": path}, follow_redirects=False)
        assert found.headers["location"] == "/af/pyhudi/table?conn=&name=listed", path
    for path in (str(lake / "hostile"), "/", str(lake), "{{ path }}", "", "x y://"):
        assert asked.get("/find", params={"table": path}).status_code == 404


@pytest.mark.parametrize("name", ["../busy", "..", ".", "", "/", "busy/../busy", "busy/", "%2e%2e"])
def test_a_name_is_no_path(lake: Path, name: str) -> None:
    asked = client(Rights(connections=("lake",)))
    assert asked.get("/table", params={"conn": "lake", "name": name}).status_code == 404


@pytest.mark.parametrize(
    ("path", "query", "said"),
    [
        ("/instant", {"name": "listed", "at": "20010101000000000"}, "no instant"),
        ("/instant", {"name": "listed", "at": "<b>"}, "&lt;b&gt;"),
        ("/static/app.py", {}, "no such file"),
        ("/static/..%2Fapp.py", {}, "Not Found"),
    ],
)
def test_what_is_not_there_is_told_plainly(lake: Path, path: str, query: Any, said: str) -> None:
    answer = client(Rights()).get(path, params=query)
    assert answer.status_code in (400, 404)
    assert said in answer.text
    assert "Traceback" not in answer.text
    assert "<b>" not in answer.text


@pytest.mark.parametrize("said", ["no json", "[1]", '{"a": 3}', '{"a": {"conn_id": "x"}}'])
def test_a_wrong_list_of_tables_is_told_on_the_page(
    lake: Path, monkeypatch: pytest.MonkeyPatch, said: str
) -> None:
    monkeypatch.setenv("AIRFLOW__PYHUDI__PAGE_TABLES", said)
    shown = text(Rights(connections=("lake",)), "/")
    assert "page_tables" in shown
    assert "hostile" in shown


def test_every_answer_forbids_what_is_not_ours(lake: Path) -> None:
    for path in ("/", "/static/page.js", "/table?name=nothing"):
        headers = client(Rights()).get(path).headers
        assert "default-src 'none'" in headers["content-security-policy"]
        assert headers["x-content-type-options"] == "nosniff"


def test_a_password_in_an_error_is_not_shown(lake: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    body = {"conn_type": "pyhudi", "host": "s3://me:hunter22@bucket/lake"}
    monkeypatch.setenv("AIRFLOW_CONN_LAKE", json.dumps(body))
    shown = text(Rights(connections=("lake",)), "/")
    assert "has a password in it" in shown
    assert "hunter22" not in shown


@pytest.mark.parametrize(
    "path",
    ["/", "/table?name=x", "/table/files?name=x", "/table/services?name=x", "/table/damage?name=x",
     "/instant?name=x&at=1", "/run?dag_id=x&run_id=x", "/find?table=x"],
)  # fmt: skip
def test_nobody_sees_anything_without_logging_in(path: str) -> None:
    nobody = within_airflow(app.pages())
    answer = nobody.get(path, follow_redirects=False)
    assert answer.status_code == 302
    assert answer.headers["location"].startswith("/af/auth/login?next=/af/pyhudi/")
    part = nobody.get(path, headers={"sec-fetch-dest": "empty"}, follow_redirects=False)
    assert part.status_code == 401


def test_every_route_asks_who_is_there() -> None:
    open_to_all = {"/static/{name}"}
    for route in app.pages().routes:
        asks = {each.call for each in route.dependant.dependencies}
        assert app.rights in asks or route.path in open_to_all, route.path


def test_the_plugin_is_what_airflow_takes() -> None:
    (mounted,) = PyhudiPlugin.fastapi_apps
    assert mounted["url_prefix"] == "/pyhudi"
    assert {view["destination"] for view in PyhudiPlugin.external_views} == {"nav", "dag_run"}
    assert all(view["href"].startswith("/pyhudi/") for view in PyhudiPlugin.external_views)
