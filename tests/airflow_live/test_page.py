"""The page of tables as people see it: in a browser, in both themes, on a phone, by keyboard."""

import time
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlencode

import psutil
import pytest

import pyhudi
from tests.airflow_live.browser import PHONE, WIDE, Browser, Window
from tests.airflow_live.server import LiveAirflow
from tests.support.lake import HTML, lake, long_lived, stamp, written
from tests.support.orders import many
from tests.support.points import IS_WHOLE

AA = 4.5
LONG = 10_000
RUN = ("live_mapped", "page_run")
"""A run of a DAG that Airflow has, which wrote to the table that is called ran."""
MARGIN = 1 if IS_WHOLE else 3
"""How much longer than on a machine of its own a page may take where others are at work."""
STATES = ("fresh", "busy", "logged", "damaged", "hostile", "long")


@pytest.fixture(scope="module")
def conn(airflow: LiveAirflow) -> str:
    """A connection to a folder with tables in every state, and one to an empty folder beside it."""
    folder = airflow.home / "page"
    lake(folder / "lake")
    long_lived(folder / "lake" / "long", LONG)
    run_that_writes(airflow, folder / "lake" / "ran")
    (folder / "empty").mkdir()
    for name in ("lake", "empty", "gone"):
        body = {"connection_id": f"page_{name}", "conn_type": "pyhudi"}
        airflow.rest.send("POST", "/connections", body | {"host": str(folder / name)})
    return "page_lake"


def run_that_writes(airflow: LiveAirflow, path: Path) -> None:
    """Have Airflow carry out a run, and leave two commits in its name."""
    dag_id, run_id = RUN
    airflow.rest.wait_for_dag(dag_id)
    airflow.rest.unpause(dag_id)
    airflow.rest.trigger(dag_id, dag_run_id=run_id)
    airflow.rest.wait_for_run(dag_id, run_id, 600)
    for month in (1, 2):
        told = stamp(dag_id, month) | {"airflow.run_id": run_id, "airflow.map_index": f"{month}"}
        written(path, many(range(20), month, "x"), "ran", "upsert", told)


@pytest.fixture
def window(browser: Browser, airflow: LiveAirflow) -> Iterator[Window]:
    """A wide, light window of an administrator."""
    with browser.window(token=airflow.rest.token) as found:
        yield found


def table(conn: str, name: str, **more: str) -> str:
    return f"/pyhudi/table?{urlencode({'conn': conn, 'name': name, **more})}"


def run_page() -> str:
    return f"/pyhudi/run?{urlencode({'dag_id': RUN[0], 'run_id': RUN[1]})}"


def instants_of(airflow: LiveAirflow, conn: str) -> dict[str, str]:
    """Pages of instants: writes, a clean, and a compaction that is planned."""
    found = {}
    shown = {"busy": ("commit", "clean"), "logged": ("compaction",), "hostile": ("commit",)}
    for name, actions in shown.items():
        for each in pyhudi.open_table(airflow.home / "page" / "lake" / name).timeline:
            asked = urlencode({"conn": conn, "name": name, "at": each.time})
            if each.action.value in actions:
                found[f"{name}-{each.action.value}"] = f"/pyhudi/instant?{asked}"
    return found


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("size", [WIDE, PHONE], ids=["wide", "phone"])
def test_every_page_is_readable_in_both_themes_and_on_a_phone(
    browser: Browser, airflow: LiveAirflow, conn: str, theme: str, size: tuple[int, int]
) -> None:
    pages = {"tables": "/pyhudi/", "nowhere": table(conn, "nowhere")}
    pages |= {name: table(conn, name) for name in STATES}
    pages |= instants_of(airflow, conn)
    pages["run"] = run_page()
    look = f"{theme}-{'phone' if size == PHONE else 'wide'}"
    with browser.window(token=airflow.rest.token, size=size, theme=theme) as window:
        for name, path in pages.items():
            window.go(path)
            window.keep(f"{name}-{look}")
            ratio, text = window.least_contrast()
            assert ratio >= AA, f"{name}: {text!r} has a contrast of {ratio:.2f}"
            assert not window.is_wider_than_its_window(), name
        assert all(address.startswith(airflow.url) for address in window.asked)
        # The browser notes that one page is not there.
        assert [each for each in window.errors if "404" not in each] == []


def test_what_tables_are_in_is_said(window: Window, conn: str) -> None:
    window.go("/pyhudi/")
    page = window.page
    assert page.get_by_text("No tables lie in its base folder yet").is_visible()
    assert page.get_by_text("is not there").is_visible()
    assert page.get_by_text("hoodie.properties has no hoodie.table.name").is_visible()
    assert page.get_by_role("link", name="landing").count() == 0
    window.go(table(conn, "logged"))
    assert page.get_by_text("planned, waits to be run").is_visible()
    assert page.get_by_text("no writer shows that it lives").is_visible()
    assert page.get_by_text("12 log files").is_visible()
    window.go(table(conn, "damaged"))
    assert page.get_by_text("commit metadata cannot be read").first.is_visible()
    window.go(table(conn, "fresh"))
    assert page.get_by_text("Nothing yet").is_visible()


def test_files_are_held_against_the_commits_when_asked(window: Window, conn: str) -> None:
    window.go(table(conn, "busy"))
    window.page.get_by_role("link", name="Hold all files against the commits").click()
    window.page.get_by_text("Every file that commits name is there").wait_for()


def test_html_in_a_table_is_text(window: Window, conn: str) -> None:
    window.go(table(conn, "hostile"))
    assert window.page.get_by_text(HTML).first.is_visible()
    window.page.get_by_text("Where the small files lie").click()
    window.page.locator("table.instants th a").click()
    window.settle()
    window.keep("instant-hostile")
    assert window.page.get_by_role("cell", name=HTML, exact=True).is_visible()
    assert window.page.locator("img").count() == 0
    assert window.errors == []


def test_it_is_used_by_keyboard_alone(window: Window, conn: str) -> None:
    window.go("/pyhudi/")
    page = window.page
    page.keyboard.press("Tab")
    assert focused(window) == "To the content"
    page.keyboard.press("Enter")
    tab_to(window, "busy")
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="busy", exact=True).wait_for()
    window.settle()
    tab_to(window, "clean 1")
    page.keyboard.press("Enter")
    page.wait_for_url("**action=clean**")
    window.settle()
    assert page.locator("table.instants tbody tr").count() == 1
    tab_to(window, "Clean")
    outline = page.evaluate("getComputedStyle(document.activeElement).outlineStyle")
    assert outline == "solid"
    page.keyboard.press("Enter")
    assert page.get_by_text("retained since").is_visible()


def test_older_instants_are_a_page_away(window: Window, conn: str) -> None:
    window.go(table(conn, "long"))
    first = window.page.locator("table.instants tbody tr").all_inner_texts()
    window.page.get_by_role("link", name="Older").click()
    window.settle()
    second = window.page.locator("table.instants tbody tr").all_inner_texts()
    assert (len(first), len(second)) == (50, 50)
    assert not set(first) & set(second)


def test_what_a_run_wrote_is_told_by_table(window: Window, conn: str) -> None:
    window.go(run_page())
    assert window.page.get_by_text("2 instants").is_visible()
    assert window.page.get_by_role("link", name="ran", exact=True).is_visible()
    assert window.page.get_by_role("link", name="busy", exact=True).count() == 0


@pytest.mark.parametrize("part", ["", "/files"])
def test_ten_thousand_instants_take_under_a_second(
    window: Window, airflow: LiveAirflow, conn: str, part: str
) -> None:
    """By what the server computes, and by the clock; where others are at work, with a margin."""
    address = window.url + table(conn, "long").replace("table?", f"table{part}?")
    if not part:
        window.go(table(conn, "long"))
        assert window.page.get_by_text("10,000").first.is_visible()
    computed, waited = [], []
    for _ in range(5):
        before, began = computed_by(airflow), time.monotonic()
        answer = window.page.request.get(address)
        waited.append(time.monotonic() - began)
        computed.append(computed_by(airflow) - before)
        assert answer.ok
    assert min(computed) < 1, f"the server computed for {computed} s"
    assert min(waited) < MARGIN, f"the page came after {waited} s"


def computed_by(airflow: LiveAirflow) -> float:
    """Seconds of processor time that the API server has used."""
    server = psutil.Process(airflow.components["api-server"].pid)
    times = [each.cpu_times() for each in (server, *server.children(recursive=True))]
    return sum(each.user + each.system for each in times)


def test_it_follows_the_theme_that_airflow_was_set_to(window: Window, conn: str) -> None:
    window.go("/pyhudi/")
    assert ground(window) == "rgb(255, 255, 255)"
    window.page.evaluate("localStorage.setItem('theme', 'dark')")
    window.go("/pyhudi/")
    assert ground(window) != "rgb(255, 255, 255)"


def test_whoever_logs_in_comes_to_the_page_that_was_asked_for(
    browser: Browser, airflow: LiveAirflow, conn: str
) -> None:
    with browser.window(token=None) as window:
        window.page.goto(window.url + table(conn, "busy"))
        window.page.get_by_label("Username").fill("admin")
        window.page.get_by_label("Password").fill(airflow.passwords["admin"])
        window.page.keyboard.press("Enter")
        window.page.get_by_role("heading", name="busy", exact=True).wait_for()


def test_who_may_not_read_a_connection_learns_nothing_of_its_tables(
    browser: Browser, airflow: LiveAirflow, conn: str
) -> None:
    with browser.window(token=airflow.viewer.token) as window:
        window.go("/pyhudi/")
        window.keep("tables-without-rights")
        assert window.page.get_by_text("No tables are set up for you to see.").is_visible()
        texts = []
        for name in ("busy", "nowhere", "../busy", "/etc"):
            answer = window.go(table(conn, name))
            assert answer.status == 404
            texts.append(window.page.locator("main").inner_text())
        assert len(set(texts)) == 1


def test_no_name_leads_out_of_the_folder(window: Window, airflow: LiveAirflow, conn: str) -> None:
    outside = Path(airflow.home) / "page" / "busy"
    (outside / ".hoodie").mkdir(parents=True)
    for name in ("../busy", str(outside), "..", ".", "", "lake/../busy", "landing"):
        assert window.go(table(conn, name)).status == 404, name
    assert window.go(f"/pyhudi/find?{urlencode({'table': outside})}").status == 404


def test_it_opens_within_airflow_and_leads_out_of_the_frame(window: Window, conn: str) -> None:
    window.go("/")
    window.page.get_by_role("button", name="Browse").click()
    window.page.get_by_text("Hudi tables").click()
    frame = window.page.frame_locator("iframe")
    frame.get_by_role("link", name="busy", exact=True).click()
    frame.get_by_role("heading", name="busy", exact=True).wait_for()
    window.keep("within-airflow")
    frame.get_by_role("link", name="Airflow", exact=True).click()
    window.page.get_by_role("heading", name="Welcome").wait_for()
    assert window.page.locator("iframe").count() == 0


def focused(window: Window) -> str:
    text = window.page.evaluate("document.activeElement.innerText")
    return " ".join(str(text).split())


def tab_to(window: Window, text: str, most: int = 80) -> None:
    for _ in range(most):
        window.page.keyboard.press("Tab")
        if focused(window).startswith(text):
            return
    pytest.fail(f"{most} tabs do not lead to {text!r}")


def ground(window: Window) -> str:
    return str(window.page.evaluate("getComputedStyle(document.documentElement).backgroundColor"))
