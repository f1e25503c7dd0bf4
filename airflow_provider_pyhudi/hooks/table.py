"""A connection to where tables lie, and read-only questions about their timelines."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from airflow.sdk import BaseHook

if TYPE_CHECKING:
    from pyhudi.table.table import Table

WRITE_ACTIONS = ("commit", "deltacommit", "replacecommit")


class PyhudiHook(BaseHook):
    """Open tables and look at their timelines; writes nothing.

    Without a connection the paths stand for themselves. With one, a relative path lies below the
    connection's host, and the connection's ``storage_options`` reach the storage.

    :param pyhudi_conn_id: The connection; None does without.
    :param storage_options: Options of the storage; they win over the connection's.
    """

    conn_name_attr = "pyhudi_conn_id"
    default_conn_name = "pyhudi_default"
    conn_type = "pyhudi"
    hook_name = "PyHudi"

    def __init__(
        self,
        pyhudi_conn_id: str | None = None,
        *,
        storage_options: Mapping[str, str] | None = None,
        **kwargs: Any,
    ) -> None:
        super().__init__(**kwargs)
        self.pyhudi_conn_id = pyhudi_conn_id
        self._given_options = dict(storage_options or {})
        self._base, self._connection_options = "", dict[str, str]()
        if pyhudi_conn_id:
            connection = self.get_connection(pyhudi_conn_id)
            self._base = (connection.host or "").rstrip("/")
            options = connection.extra_dejson.get("storage_options") or {}
            self._connection_options = {str(key): str(value) for key, value in options.items()}

    @property
    def storage_options(self) -> dict[str, str]:
        """The options given to the storage."""
        return self._connection_options | self._given_options

    def table_uri(self, base_path: str) -> str:
        """The path or URI of a table."""
        is_absolute = base_path.startswith("/") or "://" in base_path
        return base_path if is_absolute or not self._base else f"{self._base}/{base_path}"

    def get_conn(self) -> PyhudiHook:
        """The hook itself: a table is opened by path."""
        return self

    def open_table(self, base_path: str) -> Table:
        """The table at a path.

        Raises:
            pyhudi.errors.TableNotFoundError: there is none.
        """
        from pyhudi.table.table import open_table

        return open_table(self.table_uri(base_path), self.storage_options)
