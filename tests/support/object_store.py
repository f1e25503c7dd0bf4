"""An S3 server in this process, which counts requests and can be told to answer badly."""

from __future__ import annotations

import contextlib
import itertools
import logging
import os
import socket
import threading
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any
from urllib.parse import parse_qs, quote
from urllib.request import Request, urlopen

from pyhudi.storage.objects.storage import ObjectStorage
from pyhudi.storage.schemes import open_storage
from tests.support.memory import MemoryStorage

_numbers = itertools.count()
Environ = Mapping[str, Any]


class Answer(Enum):
    """What the server does with a request beside carrying it out."""

    WHOLE = "carried out and answered"
    BUSY = "told to come back later, and not carried out"
    LOST = "carried out, and the connection dropped before the answer"
    UNHEARD = "the connection dropped before it is carried out"
    BROKEN = "carried out, and answered by a server error"
    CUT = "carried out, and half of the body sent"


@dataclass(frozen=True, slots=True, kw_only=True)
class Seen:
    """One request as the server saw it."""

    method: str
    path: str
    query: str

    @property
    def kind(self) -> str:
        """What the engine calls it."""
        keys = parse_qs(self.query, keep_blank_values=True).keys()
        if {"uploads", "uploadId"} & keys:
            return "list" if self.method == "GET" else "multipart"
        if "list-type" in keys:
            return "list"
        if self.method == "POST" and "delete" in keys:
            return "delete"
        return self.method.lower()


@dataclass
class StoreServer:
    """The server; ``answer`` decides for each request, and ``seen`` has those it got."""

    port: int = 0
    seen: list[Seen] = field(default_factory=list)
    authorizations: set[str] = field(default_factory=set)
    answer: Callable[[Seen], Answer] = lambda _: Answer.WHOLE
    ignores_conditions: bool = False

    @property
    def options(self) -> dict[str, str]:
        """The storage options that reach it."""
        return {
            "endpoint_override": f"127.0.0.1:{self.port}",
            "scheme": "http",
            "region": "us-east-1",
            "access_key": "test",
            "secret_key": "testtesttest",
        }

    def start(self) -> None:
        """Serve on a free port, from threads of this process."""
        from moto.server import DomainDispatcherApplication, create_backend_app
        from werkzeug.serving import WSGIRequestHandler, make_server

        class Handler(WSGIRequestHandler):
            protocol_version = "HTTP/1.1"

        for name in ("werkzeug", "moto"):
            logging.getLogger(name).setLevel(logging.CRITICAL)
        self._application = DomainDispatcherApplication(create_backend_app)
        self._server = make_server(
            "127.0.0.1", 0, self._serve, threaded=True, request_handler=Handler
        )
        self.port = self._server.server_port
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def new_bucket(self) -> str:
        """The name of an empty bucket."""
        name = f"bucket-{os.getpid()}-{next(_numbers)}"
        url = f"http://127.0.0.1:{self.port}/{name}"
        urlopen(Request(url, method="PUT", headers=_AUTHORIZED)).close()
        self.seen.clear()
        return name

    def new_storage(self, folder: str = "lake/table", **more: str) -> ObjectStorage:
        """The storage of a folder in an empty bucket."""
        found = open_storage(f"s3://{self.new_bucket()}/{folder}", {**self.options, **more})
        assert isinstance(found, ObjectStorage)
        return found

    def fill(self, storage: ObjectStorage, files: Mapping[str, bytes]) -> None:
        """Make files without a request."""
        for path, data in files.items():
            _backend().put_object(storage.place.connection.bucket, storage.place.key(path), data)

    def filled(self, memory: MemoryStorage) -> ObjectStorage:
        """A new storage with the files of one in memory."""
        found = self.new_storage()
        self.fill(found, memory.files)
        return found

    def contents(self, storage: ObjectStorage, now_ms: int) -> MemoryStorage:
        """The files of a storage in memory, all of them modified at a time."""
        keys = _backend().buckets[storage.place.connection.bucket].keys
        root = f"{storage.place.root}/"
        files = {key[len(root) :]: keys[key].value for key in keys if key.startswith(root)}
        return MemoryStorage(files, now_ms)

    def begin_upload(self, storage: ObjectStorage, path: str) -> None:
        """Begin an upload in parts that nobody ends, as a task does that dies."""
        key = quote(f"{storage.place.connection.bucket}/{storage.place.key(path)}")
        url = f"http://127.0.0.1:{self.port}/{key}?uploads"
        urlopen(Request(url, method="POST", data=b"", headers=_AUTHORIZED)).close()

    def uploads(self, storage: ObjectStorage) -> list[str]:
        """The keys of uploads in parts that were begun and not ended."""
        found = _backend().buckets[storage.place.connection.bucket].multiparts
        return sorted(upload.key_name for upload in found.values())

    def counts(self) -> Counter[str]:
        """How many requests of each kind were seen."""
        return Counter(each.kind for each in self.seen)

    @contextlib.contextmanager
    def counting(self) -> Iterator[Counter[str]]:
        """Counts the requests within the context; they are there when it is left."""
        before, found = len(self.seen), Counter[str]()
        yield found
        found.update(each.kind for each in self.seen[before:])

    @contextlib.contextmanager
    def answering(self, answer: Callable[[Seen], Answer]) -> Iterator[None]:
        """Answers requests within the context as a function says."""
        before, self.answer = self.answer, answer
        try:
            yield
        finally:
            self.answer = before

    def _serve(self, environ: dict[str, Any], start: Any) -> Iterable[bytes]:
        path = environ["PATH_INFO"].encode("latin-1").decode("utf-8", "replace")
        seen = Seen(
            method=environ["REQUEST_METHOD"], path=path, query=environ.get("QUERY_STRING", "")
        )
        self.seen.append(seen)
        self.authorizations.add(environ.get("HTTP_AUTHORIZATION", ""))
        answer = self.answer(seen)
        if self.ignores_conditions:
            environ.pop("HTTP_IF_NONE_MATCH", None)
            environ.pop("HTTP_IF_MATCH", None)
        if answer in (Answer.BUSY, Answer.UNHEARD):
            # The body is read all the same, that the connection can be used again.
            environ["wsgi.input"].read(int(environ.get("CONTENT_LENGTH") or 0))
        if answer is Answer.UNHEARD:
            return _hang_up(environ)
        if answer is Answer.BUSY:
            start("503 Slow Down", [("Content-Length", "0")])
            return []
        body = b"".join(self._application(environ, start if answer is Answer.WHOLE else _ignore))
        if answer is Answer.WHOLE:
            return [body]
        if answer is Answer.LOST:
            return _hang_up(environ)
        if answer is Answer.BROKEN:
            start("500 Internal Server Error", [("Content-Length", "0")])
            return []
        start("206 Partial Content", [("Content-Length", str(len(body)))])
        return itertools.chain([body[: len(body) // 2]], _hang_up(environ))


def _backend() -> Any:
    from moto.backends import get_backend

    return get_backend("s3")["123456789012"]["aws"]


_AUTHORIZED = {
    "Authorization": "AWS4-HMAC-SHA256 Credential=test/20260101/us-east-1/s3/aws4_request, "
    "SignedHeaders=host, Signature=0"
}


def _ignore(*_: Any) -> None:
    return None


def _hang_up(environ: Environ) -> Iterator[bytes]:
    connection: socket.socket = environ["werkzeug.socket"]
    with contextlib.suppress(OSError):
        connection.shutdown(socket.SHUT_RDWR)
    yield from ()


def nth(number: int, answer: Answer, of: Callable[[Seen], bool]) -> Callable[[Seen], Answer]:
    """Answers the n-th of some requests so, the first being 1, and all others as they are."""
    count = itertools.count(1)

    def chosen(seen: Seen) -> Answer:
        return answer if of(seen) and next(count) == number else Answer.WHOLE

    return chosen


def always(answer: Answer, of: Callable[[Seen], bool]) -> Callable[[Seen], Answer]:
    """Answers all of some requests so."""
    return lambda seen: answer if of(seen) else Answer.WHOLE


def is_create(name: str) -> Callable[[Seen], bool]:
    """Whether a request puts a file whose path ends so."""
    return lambda seen: seen.method == "PUT" and seen.path.endswith(name)
