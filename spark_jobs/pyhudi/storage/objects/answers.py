"""What the answers of object stores mean, and how an error tells of them. Pure.

An error of obstore's is a line, the body of the answer, and the client's insides, which have
credentials among them. What is told is who was asked for what, what it said, and what to look at.
"""

from __future__ import annotations

import re
from typing import Final

from pyhudi.config.access.secret import HIDDEN, redacted
from pyhudi.errors import MissingFileError, StorageError, UnclearAnswerError

NO_RANGE: Final = ("status code: 416", "non-partial", "NotPartial")
"""What is said of a range that an object does not have."""

_STATUS: Final = re.compile(r"status code: (\d{3})")
_LATER: Final = frozenset({408, 409, 425, 429})
"""What a client is told that shall come again; 409 where another writes the same key right now."""

_INSIDES: Final = re.compile(r"\n\s*\n?Debug source:")
_LEAD: Final = re.compile(r"^.*?Error performing (?=[A-Z]+ https?://)")
_TOOK: Final = re.compile(r" in [\d.]+(?:ns|µs|ms|s) - ")
_STATUS_SAID: Final = "Server returned non-2xx "
_BODY: Final = re.compile(r"(?:<\?xml\b[^>]*>\s*)?<Error\b.*", re.DOTALL)
_CODE: Final = re.compile(r"<Code>\s*([^<]+?)\s*</Code>")
_MESSAGE: Final = re.compile(r"<Message>\s*([^<]+?)\s*</Message>")
_QUERY: Final = re.compile(r"(https?://[^\s?\"']+)\?[^\s\"')]+")
_MOST_CHARACTERS: Final = 600

_NO_ROLE: Final = "169.254.169.254"
"""Where the role of an instance is asked for, the last of all places."""

_NO_BUCKET: Final = frozenset({"NoSuchBucket", "ContainerNotFound", "FilesystemNotFound"})
_NO_ACCOUNT: Final = re.compile(r"AccessKey|Account|User")
_WRONG_REGION: Final = "incorrectly configured region"

_UNREACHED: Final = (
    ("Connection refused", "nothing listens there"),
    ("dns error", "no such name is known here"),
    ("TimedOut", "no answer in time"),
)
"""What of a client's insides tells why no answer came; that may change by itself."""

_NO_TLS: Final = (
    ("InvalidContentType", "it does not speak TLS, as http:// servers do not"),
    ("invalid peer certificate", "its certificate is not one that is trusted here"),
    ("UnknownIssuer", "its certificate is not one that is trusted here"),
)
"""The same, where coming again is of no use."""


def absent(key: str, where: str, text: str) -> StorageError:
    """What an answer means that says that something is not there; ``where`` is the bucket.

    It need not be the object: stores say so of buckets, and some of accounts.
    """
    found = _CODE.search(text)
    code = found[1] if found else ""
    if code in _NO_BUCKET:
        return StorageError(f"there is no bucket {where}; check its name, or make it")
    if _NO_ACCOUNT.search(code):
        return refusal(said(text))
    return MissingFileError(f"{key} is not there")


def failure(where: str, text: str) -> StorageError:
    """What an answer means that the client has no name for, or that there was none."""
    line = said(text)
    if _NO_ROLE in text:
        return StorageError(
            "no credentials were found: not among the storage options, not in the environment, in "
            "no profile, and no role answers; give keys in a connection, in PYHUDI_SECRETS or in "
            f"the environment, or the machine a role ({line})"
        )
    if _WRONG_REGION in text:
        return StorageError(f"{where} lies in another region; set the storage option region")
    found = _STATUS.search(line)
    status = int(found[1]) if found else 0
    if status in (401, 403):
        return refusal(line)
    told = absent("", where, text)
    if status == 404 and not isinstance(told, MissingFileError):
        return told
    is_final = status == 501 or (400 <= status < 500 and status not in _LATER)
    signs = (*NO_RANGE, *(sign for sign, _ in _NO_TLS))
    if is_final or any(sign in text for sign in signs):
        return StorageError(line)
    return UnclearAnswerError(line)


def refusal(line: str) -> StorageError:
    """What it means that the credentials do not do."""
    return StorageError(f"{line}; check the credentials, and what they allow on this bucket")


def said(text: str) -> str:
    """A message of a client on one line, without its insides and without queries of URLs.

    A signed URL has its signature there, and some stores send back what was signed.
    """
    head, *insides = _INSIDES.split(text, maxsplit=1)
    line = _BODY.sub(_told, _LEAD.sub("", " ".join(head.split())))
    line = _TOOK.sub(": ", _QUERY.sub(_without_query, line)).replace(_STATUS_SAID, "")
    line = redacted(line)[:_MOST_CHARACTERS].rstrip(":. ")
    for sign, words in (*_UNREACHED, *_NO_TLS):
        if any(sign in each for each in insides):
            return (
                f"{line}: {words}; check the network, and what the storage options say of the "
                "server"
            )
    return line


def _told(body: re.Match[str]) -> str:
    found = (pattern.search(body[0]) for pattern in (_CODE, _MESSAGE))
    return ": ".join(each[1] for each in found if each)


def _without_query(found: re.Match[str]) -> str:
    return f"{found[1]}?{HIDDEN}"
