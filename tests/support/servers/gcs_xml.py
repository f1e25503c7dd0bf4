"""Google's XML interface before fake-gcs-server, which knows how to read by it alone.

obstore speaks the XML interface alone. What it reads and lists fake-gcs-server answers itself, if
it is called by its own address; a put it answers with 400. So a put becomes an upload of the JSON
interface with the same condition and metadata. What is covered so: what obstore sends, and what it
makes of answers. What is not: that Google's own XML interface honours the condition, for which its
documentation stands; and what it takes uploads in parts for, which tables make through pyarrow.
"""

import json
from dataclasses import dataclass
from urllib.parse import quote, urlencode

from tests.support.servers.messages import Answer, Message, Request

JSON_PATHS = ("/storage/", "/upload/", "/download/", "/batch/", "/resumable/", "/_internal/")
BOUNDARY = "a-boundary-that-no-file-has-5c1f6d0e"
META = "x-goog-meta-"


@dataclass(frozen=True)
class XmlInterface:
    """A translation for the proxy; ``address`` is what the server calls itself."""

    address: str

    def request(self, request: Request) -> Request:
        """What to ask the server."""
        if request.target.startswith(JSON_PATHS):
            return request
        if request.method == "PUT" and request.key:
            return self._upload(request)
        return Request(request.first, _with(request, {"Host": self.address}), request.body)

    def answer(self, request: Request, answer: Answer) -> Answer:
        """What the XML interface would have answered."""
        if (answer.header("content-range") or "").endswith("/0"):
            # An empty object has no range; fake-gcs-server gives one that ends before its start.
            head = {"Content-Length": "0", "Content-Range": "bytes */0"}
            return Answer("HTTP/1.1 416 Range Not Satisfiable", _with(answer, head))
        is_put = request.method == "PUT" and not request.target.startswith(JSON_PATHS)
        if not is_put or answer.status != 200:
            return answer
        told = json.loads(answer.body)
        headers = {
            "ETag": f'"{told["etag"].strip(chr(34))}"',
            "x-goog-generation": told["generation"],
            "Content-Length": "0",
            "Content-Type": "text/html",
        }
        return Answer(answer.first, _with(answer, headers))

    def _upload(self, request: Request) -> Request:
        names = {"uploadType": "multipart", "name": request.key}
        condition = request.header("x-goog-if-generation-match")
        if condition is not None:
            names["ifGenerationMatch"] = condition
        metadata = {
            name[len(META) :]: value
            for name, value in request.headers
            if name.lower().startswith(META)
        }
        about = json.dumps({"name": request.key, "metadata": metadata}).encode()
        edge = BOUNDARY.encode()
        body = (
            b"--%s\r\nContent-Type: application/json\r\n\r\n%s\r\n"
            b"--%s\r\nContent-Type: application/octet-stream\r\n\r\n%s\r\n--%s--\r\n"
        ) % (edge, about, edge, request.body, edge)
        headers = {
            "Host": self.address,
            "Content-Type": f"multipart/related; boundary={BOUNDARY}",
            "Content-Length": str(len(body)),
        }
        target = f"/upload/storage/v1/b/{quote(request.bucket)}/o?{urlencode(names)}"
        return Request(f"POST {target} HTTP/1.1", _with(request, headers), body)


def _with(message: Message, headers: dict[str, str]) -> tuple[tuple[str, str], ...]:
    """The headers of a message, some of them others."""
    names = {name.lower() for name in headers}
    kept = [each for each in message.headers if each[0].lower() not in names]
    return (*headers.items(), *kept)
