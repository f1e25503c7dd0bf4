"""A storage in memory that compares and swaps."""

import itertools
from collections.abc import Callable
from enum import Enum

from pyhudi.errors import MissingFileError, PreconditionError, UnclearAnswerError
from pyhudi.storage.versioned import Versioned
from pyhudi.timeline.clock import Clock
from tests.support.memory import MemoryStorage


class Answer(Enum):
    """What becomes of a request."""

    GIVEN = "it is carried out, and answered"
    LOST = "it is carried out, and its answer is lost"
    NONE = "it never arrives"
    TWICE = "it is carried out, and sent again by somebody on the way"


class VersionedMemory(MemoryStorage):
    """Files with a version that no other state of them had, and the time of a clock.

    ``answers`` says what becomes of the next conditional puts; ``before`` is called before each.
    """

    def __init__(self, clock: Clock) -> None:
        super().__init__()
        self._clock, self._numbers = clock, itertools.count(1)
        self.versions: dict[str, str] = {}
        self.answers: list[Answer] = []
        self.before: Callable[[], None] | None = None
        self.puts = 0

    @property
    def uri(self) -> str:
        return "s3://bucket/table"

    def put(self, path: str, data: bytes) -> None:
        self.now_ms = self._clock.now_ms()
        super().put(path, data)
        self.versions[path] = f"v{next(self._numbers)}"

    def read_versioned(self, path: str) -> Versioned:
        if path not in self.files:
            raise MissingFileError(f"{path} is not there")
        return Versioned(
            data=self.files[path], version=self.versions[path], modified_ms=self.times[path]
        )

    def put_if(self, path: str, data: bytes, version: str | None) -> str:
        if self.before is not None:
            self.before()
        self.puts += 1
        answer = self.answers.pop(0) if self.answers else Answer.GIVEN
        if answer is Answer.NONE:
            raise UnclearAnswerError("no answer")
        self._put_once(path, data, version)
        if answer is Answer.LOST:
            raise UnclearAnswerError("no answer")
        if answer is Answer.TWICE:
            self._put_once(path, data, version)
        return self.versions[path]

    def _put_once(self, path: str, data: bytes, version: str | None) -> None:
        if self.versions.get(path if path in self.files else "") != version:
            raise PreconditionError(f"{path} is another by now")
        self.put(path, data)
