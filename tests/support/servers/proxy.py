"""A proxy before an S3 server that counts requests and makes faults.

::

    with Proxy(server.port) as proxy:
        there = server.behind(proxy.port)              # what clients are given
        proxy.fail(SLOW_DOWN, kind="PutObject", key="*/.hoodie/*", nth=2)
        proxy.fail(DropAnswer(), chance=0.05)          # of each request, by the proxy's seed
        ...
        assert proxy.counts()["PutObject"] == 3

It runs in a thread of this process; other processes reach it by its port. Signatures stay good, as
requests are passed on as they came.
"""

from __future__ import annotations

import asyncio
import contextlib
import fnmatch
import random
import socket
import struct
import threading
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Protocol

from tests.support.servers.messages import (
    LONGEST_HEAD,
    Answer,
    CutShortError,
    Request,
    read_answer,
    read_request,
)


@dataclass(frozen=True)
class Refuse:
    """An error instead of an answer; the server hears nothing of the request."""

    status: int
    code: str


SLOW_DOWN = Refuse(503, "SlowDown")
TOO_MANY = Refuse(429, "TooManyRequests")
BROKEN = Refuse(500, "InternalError")


@dataclass(frozen=True)
class DropAnswer:
    """The server does what it is asked, and the client never hears of it."""


@dataclass(frozen=True)
class Delay:
    """The request waits, then goes on."""

    seconds: float


@dataclass(frozen=True)
class CutUpload:
    """The server gets this share of the body, then both sides lose the connection."""

    share: float = 0.5


@dataclass(frozen=True)
class CutAnswer:
    """The client gets this share of the answer's body, then loses the connection."""

    share: float = 0.5


@dataclass(frozen=True)
class Reset:
    """The connection is reset before the server hears of the request."""


Fault = Refuse | DropAnswer | Delay | CutUpload | CutAnswer | Reset


@dataclass
class Rule:
    """Which requests meet a fault: of those that fit, the nth or each, so many times, by chance."""

    fault: Fault
    kind: str | None = None
    key: str = "*"
    nth: int | None = None
    times: int | None = None
    chance: float = 1.0
    fitting: int = 0
    met: int = 0

    def hits(self, request: Request, chance: random.Random) -> bool:
        if self.kind not in (None, request.kind) or not fnmatch.fnmatch(request.key, self.key):
            return False
        self.fitting += 1
        if self.nth not in (None, self.fitting) or self.met == self.times:
            return False
        if self.chance < 1.0 and chance.random() >= self.chance:
            return False
        self.met += 1
        return True


@dataclass(frozen=True)
class Seen:
    """One request that came: what S3 calls it, and how it went.

    ``status`` is what the server said, None where it was not asked or did not say.
    """

    kind: str
    bucket: str
    key: str
    sent_bytes: int
    status: int | None = None
    fault: Fault | None = None


class Translation(Protocol):
    """Makes other requests of those that come, and other answers of those to them."""

    def request(self, request: Request) -> Request: ...

    def answer(self, request: Request, answer: Answer) -> Answer: ...


@dataclass
class Proxy:
    """Stands before what listens on a port of this machine.

    ``seed`` decides what chance does; with several clients at once the order in which they come
    decides as well. ``translation`` is for a server that speaks otherwise than the clients.
    """

    target: int
    seed: int = 0
    translation: Translation | None = None
    port: int = 0
    seen: list[Seen] = field(default_factory=list)
    _rules: list[Rule] = field(default_factory=list)
    _refusing: bool = False

    def __post_init__(self) -> None:
        self._chance = random.Random(self.seed)
        self._lock = threading.Lock()
        self._loop = asyncio.new_event_loop()
        self._writers: set[asyncio.StreamWriter] = set()
        self._started = threading.Event()
        self._thread = threading.Thread(target=self._run, name="fault-proxy", daemon=True)

    def __enter__(self) -> Proxy:
        self._thread.start()
        if not self._started.wait(10):
            raise TimeoutError("the proxy did not start")
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)

    def fail(
        self,
        fault: Fault,
        *,
        kind: str | None = None,
        key: str = "*",
        nth: int | None = None,
        times: int | None = None,
        chance: float = 1.0,
    ) -> Rule:
        """Have requests meet a fault; the first rule that hits a request decides.

        ``key`` is a pattern of ``fnmatch`` over the key without its bucket, ``nth`` counts from 1
        the requests of this kind and pattern that come from now on.
        """
        rule = Rule(fault, kind, key, nth, times, chance)
        with self._lock:
            self._rules.append(rule)
        return rule

    def heal(self) -> None:
        """Have no request meet a fault."""
        with self._lock:
            self._rules.clear()

    @contextlib.contextmanager
    def refusing(self) -> Iterator[None]:
        """Every connection is reset, those that are open included, as if the server were gone."""
        self._refusing = True
        self._loop.call_soon_threadsafe(self._reset_all)
        try:
            yield
        finally:
            self._refusing = False

    def forget(self) -> None:
        """Forget the requests that were seen."""
        with self._lock:
            self.seen.clear()

    def requests(self, kind: str | None = None, key: str = "*") -> list[Seen]:
        """The requests of a kind whose keys fit a pattern, in the order in which they came."""
        with self._lock:
            return [
                each
                for each in self.seen
                if kind in (None, each.kind) and fnmatch.fnmatch(each.key, key)
            ]

    def counts(self, key: str = "*") -> Counter[str]:
        """How many requests came, by what S3 calls them."""
        return Counter(each.kind for each in self.requests(key=key))

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        server = self._loop.run_until_complete(
            asyncio.start_server(self._serve, "127.0.0.1", 0, limit=LONGEST_HEAD, backlog=256)
        )
        self.port = server.sockets[0].getsockname()[1]
        self._started.set()
        self._loop.run_forever()
        server.close()
        self._reset_all()
        pending = asyncio.all_tasks(self._loop)
        for task in pending:
            task.cancel()
        self._loop.run_until_complete(asyncio.gather(*pending, return_exceptions=True))
        self._loop.close()

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if self._refusing:
            _reset(writer)
            return
        self._writers.add(writer)
        upstream = _Upstream(self.target)
        try:
            while (request := await read_request(reader, writer)) is not None:
                if not await self._answer(request, writer, upstream):
                    break
        except (CutShortError, ConnectionError, asyncio.CancelledError):
            # The client or the server went away: the other is left as the network would leave it.
            # Or the proxy ends, which a task of asyncio's streams would tell as an error.
            pass
        finally:
            self._writers.discard(writer)
            upstream.close()
            writer.close()

    async def _answer(
        self, request: Request, writer: asyncio.StreamWriter, upstream: _Upstream
    ) -> bool:
        """Answer a request; False where the connection ends with it."""
        fault = self._fault_of(request)
        passed_on = self.translation.request(request) if self.translation else request
        match fault:
            case Refuse():
                self._note(request, None, fault)
                return await _send(writer, _error(fault, request))
            case Reset():
                self._note(request, None, fault)
                _reset(writer)
                return False
            case CutUpload(share):
                await upstream.send_part(passed_on, share)
                self._note(request, None, fault)
                _reset(writer)
                return False
            case Delay(seconds):
                await asyncio.sleep(seconds)
        try:
            answer = await upstream.ask(passed_on)
        except (CutShortError, ConnectionError, asyncio.CancelledError):
            self._note(request, None, fault)
            raise
        self._note(request, answer.status, fault)
        if self.translation:
            answer = self.translation.answer(request, answer)
        match fault:
            case DropAnswer():
                _reset(writer)
                return False
            case CutAnswer(share):
                writer.write(answer.head + answer.body[: int(len(answer.body) * share)])
                await writer.drain()
                return False
        return await _send(writer, answer)

    def _fault_of(self, request: Request) -> Fault | None:
        with self._lock:
            hit = (rule.fault for rule in self._rules if rule.hits(request, self._chance))
            return next(hit, None)

    def _note(self, request: Request, status: int | None, fault: Fault | None) -> None:
        with self._lock:
            size = len(request.body)
            self.seen.append(Seen(request.kind, request.bucket, request.key, size, status, fault))

    def _reset_all(self) -> None:
        for writer in list(self._writers):
            _reset(writer)


class _Upstream:
    """The connection to the server that belongs to one connection of a client."""

    def __init__(self, port: int) -> None:
        self._port = port
        self._streams: tuple[asyncio.StreamReader, asyncio.StreamWriter] | None = None

    async def ask(self, request: Request) -> Answer:
        """The server's answer; a kept connection that the server has closed is made again."""
        was_kept = self._streams is not None
        try:
            answer = await self._ask(request)
        except ConnectionError:
            answer = None
            if not was_kept:
                raise
        if answer is None and was_kept:
            self.close()
            answer = await self._ask(request)
        if answer is None:
            raise CutShortError("the server closed the connection")
        if answer.ends_connection or (answer.header("connection") or "").lower() == "close":
            self.close()
        return answer

    async def send_part(self, request: Request, share: float) -> None:
        """Send the head and a share of the body, then break off."""
        self.close()
        _, writer = await self._connected()
        writer.write(request.head + request.body[: int(len(request.body) * share)])
        await writer.drain()
        self.close()

    async def _ask(self, request: Request) -> Answer | None:
        reader, writer = await self._connected()
        writer.write(request.head + request.body)
        await writer.drain()
        return await read_answer(reader, request.method)

    async def _connected(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        if self._streams is None:
            self._streams = await asyncio.open_connection(
                "127.0.0.1", self._port, limit=LONGEST_HEAD
            )
        return self._streams

    def close(self) -> None:
        if self._streams is not None:
            self._streams[1].close()
        self._streams = None


async def _send(writer: asyncio.StreamWriter, answer: Answer) -> bool:
    writer.write(answer.head + answer.body)
    await writer.drain()
    return not answer.ends_connection


def _error(fault: Refuse, request: Request) -> Answer:
    text = f"<?xml version='1.0'?><Error><Code>{fault.code}</Code><Message>x</Message></Error>"
    body = b"" if request.method == "HEAD" else text.encode()
    headers = (("Content-Type", "application/xml"), ("Content-Length", str(len(text))))
    return Answer(f"HTTP/1.1 {fault.status} {fault.code}", headers, body)


def _reset(writer: asyncio.StreamWriter) -> None:
    """Close so that the other side sees a reset rather than an end."""
    opened = writer.get_extra_info("socket")
    if opened is not None:
        with contextlib.suppress(OSError):
            opened.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.close()
