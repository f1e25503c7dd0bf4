"""The tables that hudi-rs keeps for its own tests: we read what real Hudi and hudi-rs read.

They are not kept here. ``PYHUDI_HUDI_RS_DATA`` names the folder ``crates/test/data`` of a checkout
of github.com/apache/hudi-rs; without it there is nothing to test.
"""

import os
import time
import zipfile
from pathlib import Path

import pytest

from pyhudi.errors import UnsupportedError
from tests.interop import ours
from tests.interop.hudi import RealHudi
from tests.interop.rows import assert_same_rows, user_columns

DATA = Path(os.environ.get("PYHUDI_HUDI_RS_DATA", ""))
ARCHIVES = sorted(DATA.rglob("v[89]*.zip")) if os.environ.get("PYHUDI_HUDI_RS_DATA") else []


def unpacked(archive: Path, folder: Path) -> Path:
    """The table in an archive, its files as old as they were."""
    with zipfile.ZipFile(archive) as packed:
        for each in packed.infolist():
            written = time.mktime((*each.date_time, 0, 0, -1))
            os.utime(packed.extract(each, folder), (written, written))
    (properties,) = folder.glob("*/.hoodie/hoodie.properties")
    return properties.parent.parent


@pytest.mark.parametrize("archive", ARCHIVES, ids=lambda path: str(path.relative_to(DATA)))
def test_we_read_what_hudi_reads(archive: Path, hudi: RealHudi, tmp_path: Path) -> None:
    if hudi.version == "0.15.0":
        pytest.skip("it knows version 6 alone")
    table = unpacked(archive, tmp_path)
    if "lance" in archive.name:
        with pytest.raises(UnsupportedError, match="LANCE"):
            ours.read(table)
        return
    found = user_columns(ours.read(table))
    assert_same_rows(found, user_columns(hudi.read(table)))
    assert_same_rows(found, user_columns(ours.read_with_hudi_rs(table)))
    properties = (table / ".hoodie" / "hoodie.properties").read_text()
    done = sorted(each["completed"] for each in hudi.timeline(table) if each["completed"])
    if "populate.meta.fields=false" not in properties and len(done) > 1:
        end = done[-1]
        changed = ours.read(table, query_type="incremental", begin=done[0], end=end)
        assert_same_rows(
            user_columns(changed), user_columns(hudi.read(table, begin=done[0], end=end))
        )
