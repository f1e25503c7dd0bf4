"""As much of Google's XML interface as obstore puts and gets by; fake-gcs-server lacks the puts."""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import count
from typing import Any


@contextmanager
def google_client(bucket: str) -> Iterator[Any]:
    """The client of obstore for an empty bucket, which asks nobody for a token."""
    from obstore.store import GCSStore

    handler = type("Handler", (_Handler,), {"objects": {}, "numbers": count(1)})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    account = {
        "gcs_base_url": f"http://127.0.0.1:{server.server_port}",
        "disable_oauth": True,
        **dict.fromkeys(("client_email", "private_key", "private_key_id"), ""),
    }
    try:
        yield GCSStore(
            bucket, service_account_key=json.dumps(account), client_options={"allow_http": True}
        )
    finally:
        server.shutdown()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    """Objects with generations, which conditional puts compare; 0 is none."""

    protocol_version = "HTTP/1.1"
    objects: dict[str, tuple[int, bytes]]
    numbers: Iterator[int]

    def do_PUT(self) -> None:
        data = self.rfile.read(int(self.headers["Content-Length"]))
        wanted = self.headers.get("x-goog-if-generation-match")
        if wanted is not None and int(wanted) != self.objects.get(self.path, (0, b""))[0]:
            self._answer(412)
            return
        self.objects[self.path] = next(self.numbers), data
        self._answer(200, generation=self.objects[self.path][0])

    def do_GET(self) -> None:
        if self.path not in self.objects:
            self._answer(404)
            return
        generation, data = self.objects[self.path]
        self._answer(200, data, generation)

    def do_DELETE(self) -> None:
        self.objects.pop(self.path, None)
        self._answer(204)

    def _answer(self, status: int, data: bytes = b"", generation: int = 0) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.send_header("Last-Modified", "Thu, 01 Jan 2026 00:00:00 GMT")
        if generation:
            self.send_header("x-goog-generation", str(generation))
            # The same for the same bytes, as Google's are: no version of an object.
            self.send_header("ETag", f'"{hash(data)}"')
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_: object) -> None:
        pass
