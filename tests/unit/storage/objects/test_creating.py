"""Of several creators one succeeds, whatever becomes of the answers."""

import pytest

from pyhudi.errors import AlreadyExistsError, StorageError, UnclearAnswerError, UnsupportedError
from pyhudi.storage.objects import creating
from pyhudi.storage.objects.patience import Patience
from tests.support.object_store import Answer, Seen, always, is_create, nth
from tests.support.threads import only_winner

IS_COMMIT = is_create("1.commit")


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    patience = Patience(first_s=0.002, longest_s=0.01, total_s=0.1)
    monkeypatch.setattr("pyhudi.storage.objects.patience.PATIENCE", patience)


@pytest.fixture
def storage(store):
    found = store.new_storage()
    found.create("first", b"")
    return found


@pytest.mark.parametrize("answer", [each for each in Answer if each is not Answer.CUT])
@pytest.mark.parametrize("body", [b"", b"body"])
def test_one_bad_answer_does_not_hide_that_the_file_was_made(storage, store, answer, body):
    with store.answering(nth(1, answer, IS_COMMIT)):
        storage.create("1.commit", body)
    assert storage.read("1.commit") == body
    with pytest.raises(AlreadyExistsError):
        storage.create("1.commit", body)


@pytest.mark.parametrize("answer", [Answer.LOST, Answer.BROKEN])
def test_an_answer_that_never_comes_is_looked_up_in_the_end(storage, store, answer):
    with store.answering(always(answer, IS_COMMIT)):
        storage.create("1.commit", b"")
    assert storage.read("1.commit") == b""


@pytest.mark.parametrize("answer", [Answer.BUSY, Answer.UNHEARD])
def test_what_never_arrives_did_not_appear(storage, store, answer):
    said = r"cannot create s3://.*/1\.commit: it did not appear"
    with store.answering(always(answer, IS_COMMIT)), pytest.raises(StorageError, match=said):
        storage.create("1.commit", b"")
    assert not storage.exists("1.commit")


@pytest.mark.parametrize("answer", [Answer.BUSY, Answer.UNHEARD])
@pytest.mark.parametrize("bodies", [(b"", b""), (b"same", b"same"), (b"mine", b"theirs")])
def test_a_file_of_another_is_not_taken_for_ones_own(storage, store, answer, bodies):
    """The other's lands between the first try and the second; equal bytes say nothing."""
    mine, theirs = bodies
    fallen = []

    def interrupted(seen: Seen) -> Answer:
        if IS_COMMIT(seen) and not fallen:
            fallen.append(seen)
            storage.create("1.commit", theirs)
            return answer
        return Answer.WHOLE

    with store.answering(interrupted), pytest.raises(AlreadyExistsError):
        storage.create("1.commit", mine)
    assert storage.read("1.commit") == theirs


def test_a_file_that_does_not_tell_whose_it_is_is_nobodys(storage, store):
    """As where a proxy drops user metadata."""
    fallen = []

    def interrupted(seen: Seen) -> Answer:
        if IS_COMMIT(seen) and not fallen:
            fallen.append(seen)
            storage.put("1.commit", b"same")
            return Answer.UNHEARD
        return Answer.WHOLE

    said = "nothing tells who wrote them"
    with store.answering(interrupted), pytest.raises(StorageError, match=said) as caught:
        storage.create("1.commit", b"same")
    assert not isinstance(caught.value, AlreadyExistsError)


def test_of_many_creators_one_succeeds_while_answers_are_lost(storage, store):
    creates = []

    def some_lost(seen: Seen) -> Answer:
        creates.append(seen)
        return Answer.LOST if IS_COMMIT(seen) and len(creates) % 3 == 0 else Answer.WHOLE

    with store.answering(some_lost):
        winner = only_winner(6, lambda n: storage.create("1.commit", str(n).encode()))
    assert storage.read("1.commit") == str(winner).encode()


@pytest.mark.parametrize(
    ("call", "is_it"),
    [
        (lambda storage: storage.read("first"), lambda seen: seen.kind == "get"),
        (lambda storage: storage.status("first"), lambda seen: seen.kind == "head"),
        (lambda storage: storage.list(""), lambda seen: seen.kind == "list"),
        (lambda storage: storage.walk(""), lambda seen: seen.kind == "list"),
        (lambda storage: storage.put("a", b"1"), lambda seen: seen.kind == "put"),
        (lambda storage: storage.delete("first"), lambda seen: seen.kind == "delete"),
    ],
    ids=["read", "status", "list", "walk", "put", "delete"],
)
@pytest.mark.parametrize("answer", [Answer.BUSY, Answer.LOST, Answer.BROKEN, Answer.UNHEARD])
def test_a_call_that_can_be_made_again_is(storage, store, call, is_it, answer):
    with store.answering(nth(1, answer, is_it)):
        call(storage)
    with store.answering(always(answer, is_it)), pytest.raises(UnclearAnswerError, match="s3://"):
        call(storage)


def test_a_body_that_was_cut_is_read_again(storage, store):
    data = bytes(range(256)) * 8_000
    storage.put("file", data)
    is_range = lambda seen: seen.kind == "get"  # noqa: E731
    for number in (1, 2):
        answer = nth(number, Answer.CUT, is_range)
        with store.answering(answer), storage.open_input("file") as source:
            assert source.read() == data


def test_a_store_that_ignores_the_condition_is_refused_by_name(store, monkeypatch):
    monkeypatch.setattr(creating, "_honoured", set())
    storage, store.ignores_conditions = store.new_storage(), True
    with pytest.raises(UnsupportedError) as caught:
        storage.create("1.commit", b"")
    text = str(caught.value)
    assert f"127.0.0.1:{store.port} does not honour conditional writes" in text
    assert "If-None-Match" in text
    assert storage.walk("") == ()


def test_a_store_is_probed_once(store, monkeypatch):
    monkeypatch.setattr(creating, "_honoured", set())
    storage = store.new_storage()
    with store.counting() as first:
        storage.create("a", b"")
    with store.counting() as second:
        storage.create("b", b"")
    assert first == {"put": 3, "delete": 1}
    assert second == {"put": 1}


@pytest.mark.parametrize("answer", [Answer.BUSY, Answer.LOST, Answer.BROKEN, Answer.UNHEARD])
@pytest.mark.parametrize("number", [1, 2])
def test_a_probe_without_a_clear_answer_is_tried_again(store, answer, number):
    storage = store.new_storage()
    is_probe = lambda seen: seen.method == "PUT" and "probe" in seen.path  # noqa: E731
    with store.answering(nth(number, answer, is_probe)):
        storage.create("a", b"1")
    assert [found.path for found in storage.walk("")] == ["a"]
    assert storage.read("a") == b"1"
