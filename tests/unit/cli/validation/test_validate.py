"""Tables held against their timelines: whole ones, and each damage by its name."""

from collections.abc import Callable
from pathlib import Path

import pytest

from pyhudi.cli.validation import seen, validate
from pyhudi.cli.validation.findings import Grade
from pyhudi.cli.validation.validate import Scope, Validation, validate_table
from pyhudi.storage.schemes import open_storage
from pyhudi.storage.storage import FileStatus, Storage
from pyhudi.table.table import open_table
from tests.support.base_files import spoil
from tests.support.bootstrapped import Source, bootstrap
from tests.support.golden import expected_rows, golden_copy, golden_names, golden_table
from tests.support.orders import LOGGED, NO_SMALL_FILES, compact, many, orders, write

FOUND = {
    "v6_cow_duplicates": {("note", "repeated keys")},
    "v9_cow_duplicates": {("note", "repeated keys")},
    "v6_cow_inflight": {("note", "unfinished write")},
    "v8_mor_inflight": {("note", "unfinished write")},
    "v9_cow_inflight": {("note", "unfinished write")},
    "v6_mor_inflight_after": {("note", "unfinished write")},
    "v6_mor_rollback_lost_markers": {("orphan", "orphan")},
}
"""What there is to say of the tables that Hudi left, where it is not nothing."""


def validated(
    table: Path, *, wants_unique: bool = False, reads_archive: bool = False
) -> Validation:
    opened = open_table(table)
    told: list[tuple[int, int]] = []
    scope = Scope(wants_unique=wants_unique, reads_archive=reads_archive)
    found = validate_table(opened, scope, lambda done, total: told.append((done, total)))
    assert [done for done, _ in told] == list(range(1, len(told) + 1))
    assert all(total == len(told) for _, total in told)
    return found


def said(found: Validation) -> set[tuple[str, str]]:
    return {(each.grade.value, each.what) for each in found.findings}


@pytest.mark.parametrize("reads_archive", [False, True])
@pytest.mark.parametrize("name", golden_names())
def test_what_hudi_left_holds_together(name: str, reads_archive: bool) -> None:
    found = validated(golden_table(name), reads_archive=reads_archive)
    assert said(found) == FOUND.get(name, set()), found.findings
    if "custom_keygen_long" not in name:  # whose rows Hudi itself cannot read
        assert found.keys == len(expected_rows(name))


@pytest.fixture
def rewritten(tmp_path: Path) -> Path:
    """A copy-on-write table of two partitions, written three times."""
    for ts in range(3):
        write(tmp_path / "orders", many(range(20), ts, "x"))
    return tmp_path / "orders"


@pytest.fixture
def logged(tmp_path: Path) -> Path:
    """A merge-on-read table of two partitions with log files, one of them compacted."""
    table = tmp_path / "orders"
    for ts in range(3):
        write(table, many(range(20), ts, "x"), options=NO_SMALL_FILES)
    compact(table, {"hoodie.compact.inline.max.delta.commits": "1"})
    write(table, many(range(5), 9, "y"), options=NO_SMALL_FILES)
    return table


def test_tables_of_ours_hold_together(rewritten: Path) -> None:
    found = validated(rewritten, wants_unique=True)
    assert (found.findings, found.keys, found.rows, found.slices) == ((), 20, 20, 2)


def test_tables_of_ours_with_log_files_hold_together(logged: Path) -> None:
    found = validated(logged, wants_unique=True)
    assert (found.findings, found.keys, found.slices) == ((), 20, 2)


def newest(table: Path, pattern: str) -> Path:
    return max(table.glob(pattern), key=lambda path: path.name.split("_")[-1])


def oldest(table: Path, pattern: str) -> Path:
    return min(table.glob(pattern), key=lambda path: path.name.split("_")[-1])


def grow(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b"0")


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:-9])


def break_pages(path: Path) -> None:
    spoil(path, "_hoodie_record_key")


def break_footer(path: Path) -> None:
    data = path.read_bytes()
    begin = len(data) - 8 - int.from_bytes(data[-8:-4], "little")
    path.write_bytes(data[:begin] + b"\xff" * 40 + data[begin + 40 :])


@pytest.mark.parametrize(
    ("damage", "what"),
    [
        (Path.unlink, "missing file"),
        (cut, "wrong size"),
        (grow, "wrong size"),
        (break_pages, "unreadable file"),
        (break_footer, "unreadable file"),
    ],
)
def test_damage_to_a_base_file_is_told_once_by_its_path(
    damage: Callable[[Path], None], what: str, rewritten: Path
) -> None:
    file = newest(rewritten, "p0/*.parquet")
    damage(file)
    (found,) = validated(rewritten).findings
    assert (found.grade, found.what) == (Grade.ERROR, what)
    assert found.where == f"p0/{file.name}"


def test_a_file_of_an_older_slice_must_be_there_where_nothing_was_cleaned(rewritten: Path) -> None:
    file = oldest(rewritten, "p1/*.parquet")
    file.unlink()
    assert [each.where for each in validated(rewritten).findings] == [f"p1/{file.name}"]


def test_files_that_a_clean_deleted_are_not_missed(tmp_path: Path) -> None:
    assert validated(golden_table("v6_cow_clean")).findings == ()


def test_a_retained_file_of_a_cleaned_table_is_missed(tmp_path: Path) -> None:
    table = golden_copy("v6_cow_clean", tmp_path)
    files = sorted(table.glob("*/*.parquet"))
    files[0].unlink()
    assert {each.what for each in validated(table).findings} == {"missing file"}


@pytest.mark.parametrize(("damage", "what"), [(Path.unlink, "missing file"), (cut, "wrong size")])
def test_damage_to_a_log_file_is_told_by_its_path(
    damage: Callable[[Path], None], what: str, logged: Path
) -> None:
    file = newest(logged, "p0/.*.log.*")
    damage(file)
    found = validated(logged).findings
    assert {(each.grade, each.what, each.where) for each in found} == {
        (Grade.ERROR, what, f"p0/{file.name}")
    }


def test_a_block_that_a_commit_wrote_and_nobody_can_read_is_told(logged: Path) -> None:
    file = newest(logged, "p0/.*.log.*")
    data = file.read_bytes()
    file.write_bytes(data.replace(b"#HUDI#", b"#HUDA#", 1))
    (found,) = validated(logged).findings
    assert (found.what, found.where) == ("unreadable file", f"p0/{file.name}")


def test_bytes_that_a_dead_writer_left_behind_a_log_file_are_no_finding(logged: Path) -> None:
    file = newest(logged, "p0/.*.log.*")
    file.write_bytes(file.read_bytes() + b"#HUDI#torn")
    assert validated(logged).findings == ()


def test_a_file_that_no_write_names_is_an_orphan(rewritten: Path) -> None:
    file = newest(rewritten, "p0/*.parquet")
    named = file.with_name(file.name.replace("_", "_9", 1))
    stray = file.with_name(
        f"{file.name[: -len('20260101000000000.parquet')]}20200101000000000.parquet"
    )
    for copy in (named, stray):
        copy.write_bytes(file.read_bytes())
    found = {
        each.where: each.detail
        for each in validated(rewritten).findings
        if each.grade is Grade.ORPHAN
    }
    assert "does not name it" in found[f"p0/{named.name}"]


def test_the_files_of_a_write_that_was_rolled_back_are_orphans(rewritten: Path) -> None:
    instant = newest(rewritten, "p0/*.parquet").stem.split("_")[-1]
    for file in (rewritten / ".hoodie").glob(f"{instant}.*"):
        file.unlink()
    later = write(rewritten, many(range(5), 9, "z")).instant
    found = validated(rewritten)
    assert later is not None
    assert said(found) == {("orphan", "orphan")}
    assert all("not on the timeline" in each.detail for each in found.findings)


@pytest.mark.parametrize(("promised", "grade"), [(False, Grade.NOTE), (True, Grade.ERROR)])
def test_repeated_keys_are_an_error_where_none_were_to_be(
    promised: bool, grade: Grade, tmp_path: Path
) -> None:
    table = golden_table("v6_cow_duplicates")
    found = validated(table, wants_unique=promised).findings
    assert {each.grade for each in found} == {grade}
    assert "'k0006'" in found[0].detail


def test_a_key_twice_after_upserts_alone_is_an_error(rewritten: Path) -> None:
    file = newest(rewritten, "p0/*.parquet")
    commit = newest(rewritten, ".hoodie/*.commit")
    copy = file.name.replace(file.name[:8], "deadbeef", 1)
    file.with_name(copy).write_bytes(file.read_bytes())
    text = commit.read_text()
    at = text.index("[ {", text.index('"p0"')) + 2
    end = (
        text.index("}, {", at)
        if "}, {" in text[at : text.index("]", at)]
        else text.index("} ]", at)
    )
    stat = text[at : end + 1]
    commit.write_text(text[:at] + stat.replace(file.name[:8], "deadbeef") + ", " + text[at:])
    found = [each for each in validated(rewritten).findings if each.what == "repeated keys"]
    assert [each.grade for each in found] == [Grade.ERROR]
    assert copy in found[0].detail


def test_a_partition_without_its_metadata_is_told(rewritten: Path) -> None:
    (rewritten / "p0" / ".hoodie_partition_metadata").unlink()
    found = [each for each in validated(rewritten).findings if each.what == "partition metadata"]
    assert [each.where for each in found] == ["p0"]


@pytest.mark.parametrize("text", ["", "commitTime=1\n", "commitTime=1\npartitionDepth=2\n"])
def test_partition_metadata_must_say_what_is_so(text: str, rewritten: Path) -> None:
    (rewritten / "p1" / ".hoodie_partition_metadata").write_text(text)
    (found,) = validated(rewritten).findings
    assert (found.what, found.where) == ("partition metadata", "p1")


@pytest.mark.parametrize(
    ("text", "what"),
    [("", "empty instant"), ("{", "unreadable instant"), ("[]", "unreadable instant")],
)
def test_an_instant_that_makes_no_sense_is_told(text: str, what: str, rewritten: Path) -> None:
    commit = newest(rewritten, ".hoodie/*.commit")
    commit.write_text(text)
    found = validated(rewritten).findings
    assert (found[0].what, found[0].where) == (what, commit.name)


def test_an_inflight_without_its_request_is_told(rewritten: Path) -> None:
    (rewritten / ".hoodie" / "29990101000000000.inflight").write_text("")
    (found,) = validated(rewritten).findings
    assert (found.what, found.where) == ("unrequested instant", "29990101000000000.commit")


def test_a_plan_that_cannot_be_read_is_told(logged: Path) -> None:
    compact(logged, {"hoodie.compact.inline.max.delta.commits": "1"}, mode="schedule")
    plan = newest(logged, ".hoodie/*.compaction.requested")
    cut(plan)
    assert {each.what for each in validated(logged).findings} == {"unreadable instant"}


def test_files_of_others_are_noted(rewritten: Path) -> None:
    (rewritten / "p0" / "README.md").write_text("")
    (rewritten / "p0" / ".data.crc").write_text("")
    (found,) = validated(rewritten).findings
    assert (found.grade, found.where) == (Grade.NOTE, "p0/README.md")


def test_a_range_in_a_footer_that_leaves_a_key_out_is_told(rewritten: Path) -> None:
    file = newest(rewritten, "p0/*.parquet")
    data = file.read_bytes()
    at = data.rindex(b"k0018")
    file.write_bytes(data[:at] + b"k0008" + data[at + 5 :])
    (found,) = validated(rewritten).findings
    assert (found.what, found.where) == ("wrong footer", f"p0/{file.name}")
    assert "'k0018'" in found.detail


def test_a_table_merged_by_a_python_class_is_checked_but_for_merged_keys(logged: Path) -> None:
    properties = logged / ".hoodie" / "hoodie.properties"
    lines = [line for line in properties.read_text().splitlines() if "payload.class" not in line]
    lines += [
        "hoodie.compaction.payload.class=org.apache.hudi.common.model.OverwriteWithLatestAvroPayloadX"
    ]
    properties.write_text("\n".join(lines) + "\n")
    found = validated(logged)
    assert said(found) == {("note", "keys not compared")}


def test_log_files_are_merged_before_keys_are_compared(tmp_path: Path) -> None:
    table = tmp_path / "orders"
    write(table, many(range(6), 1, "x"), options=LOGGED)
    write(table, many(range(3), 2, "x"), "delete", options=LOGGED)
    assert validated(table, wants_unique=True).keys == 3


def test_what_is_written_meanwhile_is_neither_missing_nor_orphaned(
    rewritten: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def and_then_write(storage: Storage) -> tuple[FileStatus, ...]:
        found = seen.see_files(storage)
        write(rewritten, many(range(30), 7, "later"))
        return found

    monkeypatch.setattr(validate, "see_files", and_then_write)
    found = validated(rewritten, wants_unique=True)
    assert (found.findings, found.keys) == ((), 30)


def test_a_file_that_the_table_was_bootstrapped_from_is_held_against_it(tmp_path: Path) -> None:
    table, source = tmp_path / "table", tmp_path / "source"
    table.mkdir()
    rows = orders(*((key, "x", 1, "old") for key in "abc")).drop_columns(["part"])
    bootstrap(open_storage(str(table)), source, [Source(partition="x", rows=rows)])
    assert said(validated(table)) == set()
    path = source / "x" / "f.parquet"
    data = path.read_bytes()
    for bad, why in ((None, "is gone"), (data[:-1], "bytes, and had"), (b"x" * len(data), "read")):
        path.unlink() if bad is None else path.write_bytes(bad)
        (finding,) = validated(table).findings
        assert (finding.grade, finding.what) == (Grade.ERROR, "wrong source")
        assert f"file:{path}" in finding.detail
        assert why in finding.detail
    for index in table.rglob("*.hfile"):
        index.unlink()
    (finding,) = validated(table).findings
    assert "index does not say which file" in finding.detail
