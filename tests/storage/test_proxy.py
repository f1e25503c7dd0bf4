"""The proxy that makes faults makes those that it is told to, and no others."""

import http.client
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from tests.support.servers.proxy import (
    SLOW_DOWN,
    TOO_MANY,
    CutAnswer,
    CutUpload,
    Delay,
    DropAnswer,
    Proxy,
    Reset,
)

BROKEN_OFF = (ConnectionError, http.client.HTTPException)


class Keeper(BaseHTTPRequestHandler):
    """Keeps what is put, gives what is got."""

    protocol_version = "HTTP/1.1"
    kept: dict[str, bytes]

    def do_PUT(self) -> None:
        size = int(self.headers["Content-Length"])
        body = self.rfile.read(size)
        if len(body) == size:
            self.kept[self.path] = body
            self._answer(200, b"")

    def do_GET(self) -> None:
        found = self.kept.get(self.path)
        if found is not None and "chunked" in self.path:
            self.send_response(200)
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            self.wfile.write(b"%x\r\n%s\r\n0\r\n\r\n" % (len(found), found))
            return
        self._answer(404 if found is None else 200, found or b"gone")

    def do_HEAD(self) -> None:
        self.send_response(200 if self.path in self.kept else 404)
        self.send_header("Content-Length", str(len(self.kept.get(self.path, b""))))
        self.end_headers()

    def _answer(self, status: int, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def kept() -> dict[str, bytes]:
    return {}


@pytest.fixture
def proxy(kept: dict[str, bytes]) -> Iterator[Proxy]:
    handler = type("Handler", (Keeper,), {"kept": kept})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with Proxy(server.server_port, seed=7) as standing:
        yield standing
    server.shutdown()
    server.server_close()


class Client:
    """One connection that is kept, and made again where it broke."""

    def __init__(self, proxy: Proxy) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", proxy.port, timeout=10)

    def ask(self, method: str, path: str, body: bytes | None = None) -> tuple[int, bytes]:
        try:
            self._connection.request(method, path, body)
            answer = self._connection.getresponse()
            return answer.status, answer.read()
        except BROKEN_OFF:
            self._connection.close()
            raise


@pytest.fixture
def client(proxy: Proxy) -> Client:
    return Client(proxy)


def test_without_a_rule_requests_and_answers_pass_and_are_counted(
    client: Client, proxy: Proxy
) -> None:
    big = bytes(range(256)) * 4000
    assert client.ask("PUT", "/b/some/key", big) == (200, b"")
    assert client.ask("GET", "/b/some/key") == (200, big)
    assert client.ask("HEAD", "/b/some/key") == (200, b"")
    assert client.ask("GET", "/b/none") == (404, b"gone")
    assert proxy.counts() == {"PutObject": 1, "GetObject": 2, "HeadObject": 1}
    assert proxy.counts(key="some/*") == {"PutObject": 1, "GetObject": 1, "HeadObject": 1}
    assert [each.status for each in proxy.requests("GetObject")] == [200, 404]
    proxy.forget()
    assert not proxy.counts()


def test_an_answer_in_chunks_passes_whole(client: Client) -> None:
    client.ask("PUT", "/b/chunked", b"x" * 70_000)
    assert client.ask("GET", "/b/chunked") == (200, b"x" * 70_000)


@pytest.mark.parametrize(("fault", "status"), [(SLOW_DOWN, 503), (TOO_MANY, 429)])
def test_a_refused_request_does_not_reach_the_server(
    client: Client, proxy: Proxy, kept: dict[str, bytes], fault: object, status: int
) -> None:
    proxy.fail(fault, kind="PutObject", key="a/*", times=1)
    refused, body = client.ask("PUT", "/b/a/1", b"1")
    assert (refused, fault.code.encode() in body) == (status, True)
    assert not kept
    assert client.ask("PUT", "/b/a/1", b"1") == (200, b"")


def test_the_nth_request_of_a_kind_and_a_pattern_meets_the_fault(
    client: Client, proxy: Proxy
) -> None:
    rule = proxy.fail(SLOW_DOWN, kind="PutObject", key="*.commit", nth=2)
    names = ["1.commit", "1.parquet", "2.commit", "3.commit"]
    statuses = [client.ask("PUT", f"/b/{name}", b"")[0] for name in names]
    assert statuses == [200, 200, 503, 200]
    assert (rule.fitting, rule.met) == (3, 1)


def test_the_answer_of_a_request_that_succeeded_is_dropped(
    client: Client, proxy: Proxy, kept: dict[str, bytes]
) -> None:
    proxy.fail(DropAnswer(), nth=1)
    with pytest.raises(BROKEN_OFF):
        client.ask("PUT", "/b/k", b"1")
    assert kept == {"/b/k": b"1"}
    assert [each.status for each in proxy.requests()] == [200]
    assert client.ask("GET", "/b/k") == (200, b"1")


def test_a_request_whose_connection_is_reset_does_not_reach_the_server(
    client: Client, proxy: Proxy, kept: dict[str, bytes]
) -> None:
    proxy.fail(Reset(), nth=1)
    with pytest.raises(BROKEN_OFF):
        client.ask("PUT", "/b/k", b"1")
    assert not kept
    assert [each.status for each in proxy.requests()] == [None]


def test_an_upload_that_is_cut_leaves_nothing_at_the_server(
    client: Client, proxy: Proxy, kept: dict[str, bytes]
) -> None:
    proxy.fail(CutUpload(0.5), nth=1)
    with pytest.raises(BROKEN_OFF):
        client.ask("PUT", "/b/k", b"1" * 100_000)
    assert client.ask("GET", "/b/k")[0] == 404
    assert not kept


def test_an_answer_that_is_cut_says_how_long_it_should_be_and_ends_before(
    client: Client, proxy: Proxy
) -> None:
    client.ask("PUT", "/b/k", b"1" * 1000)
    proxy.fail(CutAnswer(0.25), kind="GetObject", nth=1)
    with pytest.raises(http.client.IncompleteRead) as cut:
        client.ask("GET", "/b/k")
    assert (len(cut.value.partial), cut.value.expected) == (250, 750)
    assert client.ask("GET", "/b/k") == (200, b"1" * 1000)


def test_a_delayed_request_is_overtaken_by_another(client: Client, proxy: Proxy) -> None:
    proxy.fail(Delay(0.5), key="slow")
    late = threading.Thread(target=Client(proxy).ask, args=("PUT", "/b/slow", b"1"))
    late.start()
    while not proxy._rules[0].met:
        pass
    client.ask("PUT", "/b/quick", b"1")
    late.join()
    assert [each.key for each in proxy.requests()] == ["quick", "slow"]


def test_a_server_that_refuses_connections_refuses_them_until_it_is_back(
    client: Client, proxy: Proxy
) -> None:
    client.ask("PUT", "/b/k", b"1")
    with proxy.refusing():
        for _ in range(3):
            with pytest.raises(BROKEN_OFF):
                client.ask("GET", "/b/k")
    assert client.ask("GET", "/b/k") == (200, b"1")


def test_chance_is_drawn_from_the_seed(proxy: Proxy) -> None:
    def met(seed: int) -> list[int]:
        with Proxy(proxy.port, seed=seed) as seeded:
            seeded.fail(SLOW_DOWN, chance=0.3)
            client = Client(seeded)
            return [client.ask("PUT", "/b/k", b"")[0] for _ in range(60)]

    first = met(1)
    assert first == met(1) != met(2)
    assert 8 <= first.count(503) <= 30


def test_a_healed_proxy_makes_no_faults(client: Client, proxy: Proxy) -> None:
    proxy.fail(SLOW_DOWN)
    proxy.heal()
    assert client.ask("PUT", "/b/k", b"1") == (200, b"")


@pytest.mark.parametrize(
    ("method", "path", "kind"),
    [
        ("PUT", "/b/k?partNumber=1&uploadId=u", "UploadPart"),
        ("POST", "/b/k?uploads", "CreateMultipartUpload"),
        ("POST", "/b/k?uploadId=u", "CompleteMultipartUpload"),
        ("DELETE", "/b/k?uploadId=u", "AbortMultipartUpload"),
        ("DELETE", "/b/a%20key/x", "DeleteObject"),
        ("POST", "/b?delete", "DeleteObjects"),
        ("GET", "/b/?list-type=2&prefix=a", "ListObjectsV2"),
        ("GET", "/b?uploads", "ListMultipartUploads"),
        ("HEAD", "/b", "HeadBucket"),
        ("PUT", "/b/", "CreateBucket"),
    ],
)
def test_requests_are_called_what_s3_calls_them(
    client: Client, proxy: Proxy, method: str, path: str, kind: str
) -> None:
    proxy.fail(SLOW_DOWN)
    client.ask(method, path, b"" if method in ("PUT", "POST") else None)
    assert proxy.counts() == {kind: 1}
