"""HTTP/1.1 as the proxy passes it on: messages with their bodies as they came, framing included."""

import asyncio
from dataclasses import dataclass
from urllib.parse import parse_qs, unquote, urlsplit

LONGEST_HEAD = 1 << 18

# What S3 calls a request, by its method and by what its query has; the first that fits.
_OF_OBJECTS = (
    ("PUT", "partNumber", "UploadPart"),
    ("PUT", "", "PutObject"),
    ("POST", "uploads", "CreateMultipartUpload"),
    ("POST", "uploadId", "CompleteMultipartUpload"),
    ("DELETE", "uploadId", "AbortMultipartUpload"),
    ("DELETE", "", "DeleteObject"),
    ("GET", "uploadId", "ListParts"),
    ("GET", "", "GetObject"),
    ("HEAD", "", "HeadObject"),
)
_OF_BUCKETS = (
    ("GET", "uploads", "ListMultipartUploads"),
    ("GET", "list-type", "ListObjectsV2"),
    ("GET", "location", "GetBucketLocation"),
    ("GET", "", "ListObjects"),
    ("POST", "delete", "DeleteObjects"),
    ("PUT", "", "CreateBucket"),
    ("DELETE", "", "DeleteBucket"),
    ("HEAD", "", "HeadBucket"),
)


class CutShortError(Exception):
    """The other side went away in the middle of a message."""


@dataclass(frozen=True)
class Message:
    """A request or an answer: its first line, its headers in order, its body as it was framed."""

    first: str
    headers: tuple[tuple[str, str], ...]
    body: bytes = b""

    def header(self, name: str) -> str | None:
        found = (value for key, value in self.headers if key.lower() == name.lower())
        return next(found, None)

    @property
    def head(self) -> bytes:
        lines = [self.first, *(f"{name}: {value}" for name, value in self.headers), "", ""]
        return "\r\n".join(lines).encode("latin-1")


@dataclass(frozen=True)
class Request(Message):
    """A request in path style: ``/bucket/key``."""

    @property
    def method(self) -> str:
        return self.first.split(" ", 1)[0]

    @property
    def target(self) -> str:
        return self.first.split(" ")[1]

    @property
    def bucket(self) -> str:
        return unquote(urlsplit(self.target).path.lstrip("/").partition("/")[0])

    @property
    def key(self) -> str:
        return unquote(urlsplit(self.target).path.lstrip("/").partition("/")[2])

    @property
    def query(self) -> dict[str, str]:
        parsed = parse_qs(urlsplit(self.target).query, keep_blank_values=True)
        return {name: values[0] for name, values in parsed.items()}

    @property
    def kind(self) -> str:
        """What S3 calls it; ``CopyObject`` where a put names a source."""
        if self.method == "PUT" and self.header("x-amz-copy-source"):
            return "CopyObject"
        query = self.query
        for method, part, kind in _OF_OBJECTS if self.key else _OF_BUCKETS:
            if method == self.method and (not part or part in query):
                return kind
        return self.method


@dataclass(frozen=True)
class Answer(Message):
    """An answer; ``ends_connection`` where its body ends with the connection."""

    ends_connection: bool = False

    @property
    def status(self) -> int:
        return int(self.first.split(" ")[1])


async def read_request(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> Request | None:
    """The next request, None where there is none; whoever waits to send a body is told to."""
    head = await _read_head(reader)
    if head is None:
        return None
    first, headers = head
    request = Request(first, headers)
    if (request.header("expect") or "").lower() == "100-continue":
        writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        await writer.drain()
        headers = tuple(each for each in headers if each[0].lower() != "expect")
    return Request(first, headers, await _read_body(reader, request))


async def read_answer(reader: asyncio.StreamReader, method: str) -> Answer | None:
    """The answer to a request of this method, None where the server said nothing."""
    while True:
        head = await _read_head(reader)
        if head is None:
            return None
        answer = Answer(*head)
        if answer.status >= 200:
            break
    if method == "HEAD" or answer.status in (204, 304):
        return answer
    framed = answer.header("content-length") or answer.header("transfer-encoding")
    body = await _read_body(reader, answer) if framed else await reader.read()
    return Answer(answer.first, answer.headers, body, ends_connection=not framed)


async def _read_head(
    reader: asyncio.StreamReader,
) -> tuple[str, tuple[tuple[str, str], ...]] | None:
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError as error:
        if error.partial:
            raise CutShortError("in the head of a message") from error
        return None
    except ConnectionError:
        return None
    first, *lines = head.decode("latin-1")[:-4].split("\r\n")
    pairs = (line.partition(":") for line in lines)
    return first, tuple((name, value.strip()) for name, _, value in pairs)


async def _read_body(reader: asyncio.StreamReader, message: Message) -> bytes:
    try:
        if "chunked" in (message.header("transfer-encoding") or "").lower():
            return await _read_chunks(reader)
        return await reader.readexactly(int(message.header("content-length") or 0))
    except (asyncio.IncompleteReadError, ConnectionError) as error:
        raise CutShortError("in the body of a message") from error


async def _read_chunks(reader: asyncio.StreamReader) -> bytes:
    body = b""
    while True:
        line = await reader.readuntil(b"\r\n")
        size = int(line.split(b";")[0], 16)
        body += line
        if not size:
            break
        body += await reader.readexactly(size + 2)
    # What follows the last chunk are trailers, and an empty line.
    while True:
        line = await reader.readuntil(b"\r\n")
        body += line
        if line == b"\r\n":
            return body
