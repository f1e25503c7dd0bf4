"""The pages and who may see them: one function a page, each of which asks for the user first.

They are plain functions, so FastAPI runs each in a thread of its own: a slow storage holds up
nobody else's requests.
"""

from __future__ import annotations

import logging
from importlib import resources
from typing import Annotated, Any
from urllib.parse import quote, urlencode

from airflow.api_fastapi.core_api.security import GetUserDep
from airflow.sdk.exceptions import AirflowException
from fastapi import Depends, FastAPI, HTTPException, Query, Request
from fastapi.responses import HTMLResponse, RedirectResponse, Response

from airflow_provider_pyhudi.exceptions import NoSuchPlaceError
from airflow_provider_pyhudi.page.looks import Looks
from airflow_provider_pyhudi.page.places import find_place, groups, is_same_table, places
from airflow_provider_pyhudi.page.rights import Rights
from airflow_provider_pyhudi.page.shown import templates
from pyhudi.config.access.secret import redacted
from pyhudi.errors import EXIT_REQUEST, HudiError, TableNotFoundError

_STATIC = {
    "page.css": "text/css; charset=utf-8",
    "page.js": "text/javascript; charset=utf-8",
}
_HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": (
        "default-src 'none'; style-src 'self'; script-src 'self'; img-src 'self'; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'self'"
    ),
    "Referrer-Policy": "same-origin",
    "X-Content-Type-Options": "nosniff",
}
_NOT_THERE = "There is no such table among those that you may see here."

log = logging.getLogger(__name__)


def rights(user: GetUserDep) -> Rights:
    """The rights of the user who is logged in; who may see no table is turned away."""
    found = Rights(user=user)
    if not found.may_see_tables():
        raise HTTPException(
            403, "Your user may not read assets, which this page needs; an admin can allow it."
        )
    return found


Allowed = Annotated[Rights, Depends(rights)]
Named = Annotated[str, Query(max_length=1000)]


def pages() -> FastAPI:
    """The application: its pages, their parts, and how errors look."""
    found = FastAPI(title="Tables of pyhudi", docs_url=None, redoc_url=None, openapi_url=None)
    found.add_api_route("/", _tables, response_class=HTMLResponse)
    found.add_api_route("/table", _table, response_class=HTMLResponse)
    found.add_api_route("/table/files", _files, response_class=HTMLResponse)
    found.add_api_route("/table/services", _services, response_class=HTMLResponse)
    found.add_api_route("/table/damage", _damage, response_class=HTMLResponse)
    found.add_api_route("/instant", _instant, response_class=HTMLResponse)
    found.add_api_route("/run", _run, response_class=HTMLResponse)
    found.add_api_route("/find", _find, response_class=RedirectResponse)
    found.add_api_route("/static/{name}", _static)
    for kind in (HTTPException, NoSuchPlaceError, AirflowException, HudiError, Exception):
        found.add_exception_handler(kind, _error)
    return found


def _tables(request: Request, allowed: Allowed) -> Response:
    """All tables that there are."""
    shown = [Looks(rights=allowed).rows_of(group) for group in groups(allowed)]
    return _page(request, "tables.html", groups=shown)


def _table(
    request: Request,
    allowed: Allowed,
    name: Named,
    conn: Named = "",
    before: Named = "",
    action: Named = "",
) -> Response:
    """One table: what happened to it, and what there is of it."""
    place = find_place(allowed, conn, name)
    found = Looks(rights=allowed).table(place, before=before or None, action=action or None)
    return _page(request, "table.html", place=place, **found)


def _files(request: Request, allowed: Allowed, name: Named, conn: Named = "") -> Response:
    """The part of a table's page that needs a listing of its data files."""
    found = Looks(rights=allowed).files(find_place(allowed, conn, name))
    return _page(request, "files.html", **found)


def _services(request: Request, allowed: Allowed, name: Named, conn: Named = "") -> Response:
    """The part of a table's page that says what services would do."""
    place = find_place(allowed, conn, name)
    return _page(request, "services.html", place=place, **Looks(rights=allowed).services(place))


def _damage(request: Request, allowed: Allowed, name: Named, conn: Named = "") -> Response:
    """The part of a table's page that holds its files against all its commits."""
    found = Looks(rights=allowed).damage(find_place(allowed, conn, name))
    return _page(request, "damage.html", **found)


def _instant(
    request: Request, allowed: Allowed, name: Named, at: Named, conn: Named = ""
) -> Response:
    """All that an instant says."""
    place = find_place(allowed, conn, name)
    return _page(
        request, "instant.html", place=place, at=at, **Looks(rights=allowed).instant(place, at)
    )


def _run(request: Request, allowed: Allowed, dag_id: Named, run_id: Named) -> Response:
    """What a DAG run wrote, over all tables."""
    if not allowed.may_read_runs(dag_id):
        raise HTTPException(403, "Your user may not read the runs of this DAG.")
    found = Looks(rights=allowed).run(dag_id, run_id, places(allowed))
    return _page(request, "run.html", dag_id=dag_id, run_id=run_id, **found)


def _find(request: Request, allowed: Allowed, table: Named, at: Named = "") -> Response:
    """To the page of the table at a path or URI, if it is one of those that there are."""
    for place in places(allowed):
        if is_same_table(place.path, table):
            asked = {"conn": place.conn_id, "name": place.name} | ({"at": at} if at else {})
            page = "instant" if at else "table"
            return RedirectResponse(f"{_own(request)}/{page}?{urlencode(asked)}", status_code=302)
    raise NoSuchPlaceError(table)


def _static(name: str) -> Response:
    """The style sheet and the script, which say nothing of any table."""
    if name not in _STATIC:
        raise HTTPException(404, "There is no such file.")
    body = (resources.files("airflow_provider_pyhudi.page") / "static" / name).read_bytes()
    return Response(
        body, media_type=_STATIC[name], headers=_HEADERS | {"Cache-Control": "no-cache"}
    )


def _page(request: Request, template: str, *, code: int = 200, **values: Any) -> Response:
    own = _own(request)
    airflow = own.rpartition("/")[0] + "/"
    text = templates().get_template(template).render(own=own, airflow=airflow, **values)
    return HTMLResponse(text, status_code=code, headers=_HEADERS)


def _own(request: Request) -> str:
    """The page's own address below that of the server, without a slash at its end."""
    return str(request.scope.get("root_path", "")).rstrip("/")


async def _error(request: Request, error: Exception) -> Response:
    """An error told plainly: who is not logged in goes there, others get a sentence."""
    status, said = _said(error)
    is_part = request.headers.get("sec-fetch-dest") == "empty"
    if status == 401 and not is_part:
        own, path = _own(request), str(request.scope["path"])
        # Proxies may have cut off what Airflow lies below.
        here = f"{path if path.startswith(own) else own + path}?{request.url.query}"
        airflow = own.rpartition("/")[0]
        return RedirectResponse(f"{airflow}/auth/login?next={quote(here)}", status_code=302)
    template = "problem.html" if is_part else "error.html"
    return _page(request, template, code=status, status=status, said=redacted(said))


def _said(error: Exception) -> tuple[int, str]:
    match error:
        case HTTPException():
            return error.status_code, str(error.detail)
        case NoSuchPlaceError():
            return 404, _NOT_THERE
        case TableNotFoundError():
            return 404, "The table was here and is gone: its folder has no table any more."
        case AirflowException():
            return 400, str(error)
        case HudiError():
            return 400 if error.exit_code == EXIT_REQUEST else 502, str(error)
    log.error("a page of pyhudi failed", exc_info=error)
    return 500, "This page failed; the log of the API server says why."
