"""Tables on an object store beside those on a disk: times, requests, what is to be enough."""

from benchmarks.requests_told import budget, storage_table, verdicts

KINDS = {"get": 300, "put": 200, "list": 10, "head": 4, "delete": 5, "multipart": 1}
SHARES = {"markers": 100, "heartbeat": 4}


def line(engine: str, seconds: float, **more: object) -> dict[str, object]:
    return {"engine": engine, "step": "upsert_u1", "run": 1, "seconds": seconds, **more}


def counted() -> dict[str, int]:
    return {f"requests_{name}": count for name, count in {**KINDS, **SHARES}.items()}


def test_the_budget_follows_the_files_read_and_written() -> None:
    found = budget({**counted(), "files_rewritten": 100, "files_created": 10})
    assert found == {"requests": 520, "requests_enough": 6 * 100 + 4 * 110 + 60}


def test_a_step_on_the_store_stands_beside_that_on_the_disk() -> None:
    disk, store = line("pyhudi", 2.0, processor_seconds=3.0), line("pyhudi_s3", 3.0, **counted())
    head, row = storage_table({"upsert_u1": {"pyhudi": disk, "pyhudi_s3": store}})
    told = dict(zip(head, row, strict=True))
    assert (told["disk s"], told["S3 s"], told["times"]) == ("2.00", "3.00", "1.50")
    assert (told["requests"], told["get"], told["markers"]) == ("520", "300", "100")


def test_what_takes_too_long_and_asks_too_much_is_said() -> None:
    made = {"requests": 520, "requests_enough": 500, "files_rewritten": 44, "files_created": 0}
    alone = {**line("pyhudi_s3", 9.0, **counted(), **made), "step": "requests"}
    both = {"pyhudi": line("pyhudi", 2.0), "pyhudi_s3": line("pyhudi_s3", 3.0, **counted())}
    table = storage_table({"upsert_u1": both, "requests": {"pyhudi_s3": alone}})
    times, requests = verdicts(table, [*both.values(), alone])
    assert "1.50 times" in times
    assert "at most" not in times
    assert "520 requests, of which 100 for markers and 4 for the heartbeat (20%)" in requests
    assert "500 is the goal" in requests


def test_a_read_that_takes_too_long_is_said_as_a_write_is() -> None:
    steps = {
        step: {"pyhudi": line("pyhudi", 1.0), "pyhudi_s3": line("pyhudi_s3", seconds, **counted())}
        for step, seconds in (("start", 9.0), ("upsert_u1", 1.0), ("read", 1.44))
    }
    (told,) = verdicts(storage_table(steps), [])
    assert "up to 1.44 times as long as on the disk (read)" in told
    assert "1.20 times on average" in told
