"""A bootstrap that died between its two commits: nobody goes on from half a table."""

import shutil
from pathlib import Path

import pyarrow as pa
import pytest

import pyhudi
from tests.interop.hudi import HudiError, RealHudi
from tests.support.datasets import MIXED, bootstrap, dataset, lay_out

ROW = {"id": "k9999", "ts": 1, "score": 1.5, "part": "north"}


def test_what_ours_hides_hudis_next_writer_undoes_or_refuses(
    hudi: RealHudi, tmp_path: Path
) -> None:
    source, table = lay_out(tmp_path / "source", dataset()), tmp_path / "table"
    bootstrap(table, source, MIXED)
    (table / ".hoodie" / "00000000000002.commit").unlink()
    assert pyhudi.read_table(table).num_rows == 0
    copy = shutil.copytree(table, tmp_path / "copy")
    if hudi.version.startswith("0."):
        hudi.write(copy, pa.Table.from_pylist([ROW]))
        assert [{name: row[name] for name in ROW} for row in hudi.read(copy)] == [ROW]
        assert pyhudi.read_table(copy, columns=list(ROW)).to_pylist() == [ROW]
        assert not list((copy / ".hoodie/.aux/.bootstrap").rglob("*.hfile"))
    else:  # its restore stumbles over the instant that it is to undo
        with pytest.raises(HudiError, match="rollback greater commits first"):
            hudi.write(copy, pa.Table.from_pylist([ROW]))
    again = bootstrap(table, source, MIXED)
    assert (again.status, len(hudi.read(table))) == ("committed", 30)
