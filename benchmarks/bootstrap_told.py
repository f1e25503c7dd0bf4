"""What the benchmark of bootstraps says: its steps, what was to be reached, and how it came out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from engines import OURS, PLAIN, Line

METADATA, FULL, INSERT = "bootstrap_metadata", "bootstrap_full", "bulk_insert"
ALL_COLUMNS, KEYS_ALONE = "metadata_all_columns", "metadata_key_columns"
ONE_KEY, FOUR_KEYS = "metadata_one_key", "metadata_four_keys"
FIRST_READ, READ, SCAN, WHOLE, FILES = "first_read", "read", "scan", "whole", "files"

OF_HUDIS_TIME, OF_BULK_INSERT, OF_PLAIN_READ, OF_KEYS_ALONE, OF_ONE_KEY = 0.2, 1.1, 1.3, 1.2, 4.0
"""What is to be reached: shares of the time that something else takes."""

Steps = Mapping[str, Mapping[str, Line]]


def done(lines: Iterable[Line]) -> list[Line]:
    """The lines of what was done: files as they are need not be taken over to be read."""
    nothing = ((PLAIN, METADATA), (PLAIN, FILES))
    return [each for each in lines if (each["engine"], each["step"]) not in nothing]


def verdicts(found: Steps, source_bytes: int) -> list[str]:
    """What was to be reached, and how it came out."""
    told = []
    ours = found[METADATA].get(OURS)
    if ours is not None:
        written = ours["bytes_written"]
        told.append(
            f"metadata alone writes {written / 1e6:.1f} MB beside {source_bytes / 1e6:,.0f} MB of "
            f"the source, {written / source_bytes:.1%}"
        )
    for what, step, beside, most in _held(found):
        mine, theirs = _seconds(found, step, OURS), _seconds(found, *beside)
        if mine is not None and theirs:
            share = mine / theirs
            verdict = "reached" if share <= most else "NOT reached"
            told.append(f"{what}: {share:.2f}, at most {most} was asked for: {verdict}")
    return told


def _held(found: Steps) -> tuple[tuple[str, str, tuple[str, str], float], ...]:
    hudi = next((name for name in found[METADATA] if name.startswith("hudi")), "hudi")
    return (
        ("metadata alone, of Hudi's time", METADATA, (METADATA, hudi), OF_HUDIS_TIME),
        ("with rows, of our bulk insert's time", FULL, (INSERT, OURS), OF_BULK_INSERT),
        ("a column read, of pyarrow's time", READ, (READ, PLAIN), OF_PLAIN_READ),
        ("all columns read, of pyarrow's time", SCAN, (SCAN, PLAIN), OF_PLAIN_READ),
        (
            "the whole table with its meta columns, of the time that pyarrow takes for its files "
            "and the dataset's",
            WHOLE,
            (FILES, OURS),
            OF_PLAIN_READ,
        ),
        (
            "metadata of files with all columns, of the time that files of the keys alone take",
            ALL_COLUMNS,
            (KEYS_ALONE, OURS),
            OF_KEYS_ALONE,
        ),
        (
            "metadata with keys of four columns, of the time that keys of one take",
            FOUR_KEYS,
            (ONE_KEY, OURS),
            OF_ONE_KEY,
        ),
    )


def _seconds(found: Steps, step: str, engine: str) -> float | None:
    line = found.get(step, {}).get(engine)
    return None if line is None else float(line["seconds"])
