"""The page as an ASGI application that is made when somebody comes."""

from __future__ import annotations

import threading
from collections.abc import Awaitable, Callable, MutableMapping
from importlib import import_module
from typing import Any, TypeAlias

Message: TypeAlias = MutableMapping[str, Any]
Application: TypeAlias = Callable[
    [Message, Callable[[], Awaitable[Message]], Callable[[Message], Awaitable[None]]],
    Awaitable[None],
]


class Door:
    """Hands requests to the application, which is imported for the first of them.

    A plugin is imported by every process of Airflow, the page needed by API servers alone.
    """

    def __init__(self) -> None:
        self._made: Application | None = None
        self._lock = threading.Lock()

    async def __call__(
        self,
        scope: Message,
        receive: Callable[[], Awaitable[Message]],
        send: Callable[[Message], Awaitable[None]],
    ) -> None:
        """Answer a request."""
        await self._application()(scope, receive, send)

    def _application(self) -> Application:
        with self._lock:
            if self._made is None:
                made: Application = import_module("airflow_provider_pyhudi.page.app").pages()
                self._made = made
            return self._made
