"""A file is replaced as long as it is the one that was read, and by one of several."""

import pytest

from pyhudi.errors import (
    MissingFileError,
    PreconditionError,
    SetupError,
    UnclearAnswerError,
    UnsupportedError,
)
from pyhudi.storage.objects import swapping
from pyhudi.storage.objects.patience import Patience
from pyhudi.storage.schemes import open_storage
from pyhudi.storage.versioned import Versioned, as_versioned
from tests.support.google_xml import google_client
from tests.support.object_store import Answer, is_create, nth

FILE = "a/lock.json"
IS_PUT = is_create("lock.json")


@pytest.fixture(autouse=True)
def quick(monkeypatch):
    patience = Patience(first_s=0.002, longest_s=0.01, total_s=0.1)
    monkeypatch.setattr("pyhudi.storage.objects.patience.PATIENCE", patience)


@pytest.fixture
def storage(store):
    return store.new_storage()


def test_a_file_is_made_replaced_and_read_by_its_version(storage):
    with pytest.raises(MissingFileError, match=r"lock\.json: it is not there"):
        storage.read_versioned(FILE)
    first = storage.put_if(FILE, b"first", None)
    second = storage.put_if(FILE, b"second", first)
    found = storage.read_versioned(FILE)
    assert (found.data, found.version) == (b"second", second)
    assert first != second
    assert found.modified_ms == storage.status(FILE).modified_ms


def test_another_version_is_left_as_it_is(storage):
    first = storage.put_if(FILE, b"first", None)
    storage.put(FILE, b"theirs")
    for version in (first, None):
        with pytest.raises(PreconditionError, match=r"cannot replace .*lock\.json"):
            storage.put_if(FILE, b"mine", version)
    assert storage.read(FILE) == b"theirs"
    storage.delete(FILE)
    with pytest.raises(PreconditionError):
        storage.put_if(FILE, b"mine", first)
    assert not storage.exists(FILE)


@pytest.mark.parametrize("answer", [Answer.LOST, Answer.UNHEARD, Answer.BUSY, Answer.BROKEN])
def test_an_answer_that_is_not_clear_is_passed_on_after_one_try(storage, store, answer):
    first = storage.put_if(FILE, b"first", None)
    with (
        store.counting() as counts,
        store.answering(nth(1, answer, IS_PUT)),
        pytest.raises(UnclearAnswerError),
    ):
        storage.put_if(FILE, b"second", first)
    assert counts == {"put": 1}
    carried_out = answer in (Answer.LOST, Answer.BROKEN)
    assert storage.read(FILE) == (b"second" if carried_out else b"first")


def test_a_store_that_compares_nothing_is_found_out_before_the_first_swap(store, monkeypatch):
    monkeypatch.setattr(swapping, "_honoured", set())
    storage = store.new_storage()
    store.ignores_conditions = True
    with pytest.raises(UnsupportedError, match="Two writers could hold one lock there"):
        storage.put_if(FILE, b"first", None)
    assert storage.walk("") == ()


def test_a_store_is_asked_once_in_a_process(storage, store):
    storage.put_if("x", b"", None)
    with store.counting() as counts:
        storage.put_if(FILE, b"first", None)
    assert counts == {"put": 1}


def test_without_obstore_it_is_refused(storage, monkeypatch):
    monkeypatch.setattr("pyhudi.storage.objects.storage.has_obstore", lambda: False)
    with pytest.raises(SetupError, match="pip install 'airflow-provider-pyhudi\\[s3\\]'"):
        storage.read_versioned(FILE)
    monkeypatch.setattr(swapping, "_honoured", {storage.place.connection})
    with pytest.raises(SetupError, match="needs the package obstore"):
        storage.put_if(FILE, b"", None)


def test_what_compares_and_swaps_is_told_from_what_does_not(storage, tmp_path):
    assert as_versioned(storage) is storage
    assert as_versioned(open_storage(str(tmp_path))) is None


def test_on_google_it_is_the_generation_that_is_compared(monkeypatch):
    with google_client("bucket") as client:
        monkeypatch.setattr("pyhudi.storage.objects.calls.obstore_client", lambda _: client)
        storage = open_storage("gs://bucket/table")
        first = storage.put_if(FILE, b"same", None)
        second = storage.put_if(FILE, b"same", first)
        assert second != first
        assert storage.read_versioned(FILE) == Versioned(
            data=b"same", version=second, modified_ms=1_767_225_600_000
        )
        for version in (first, None):
            with pytest.raises(PreconditionError):
                storage.put_if(FILE, b"late", version)
