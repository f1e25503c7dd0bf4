"""The page of results: what was measured anew is replaced, everything else stays."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

REPORT = Path(__file__).parents[3] / "benchmarks" / "report.py"
PAGE = """# Performance

Before.

<!-- results: begin -->

### A cold spark-submit, 10,000 flights

Old and not measured again.

### Write steps, lineitem, scale factor 1, flat

Old, 99.9 s.

<!-- results: end -->

After.
"""


def lines(layout: str, seconds: float) -> str:
    about = {"date": "2026-11-22", "command": "python upsert.py", "repeat": 1}
    about |= {"scale_factor": "1", "layout": layout, "table_type": "copy_on_write"}
    step = {"engine": "pyhudi", "step": "upsert_u1", "rows": 60188, "seconds": seconds, "run": 1}
    found = [{"about": about}, step, {"ended": True}]
    return "".join(json.dumps({"benchmark": "upsert", **line}) + "\n" for line in found)


def rendered(page: Path, *results: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(REPORT), *map(str, results), "--page", str(page), "--no-plots"]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_sections_are_replaced_and_added_and_others_stay(tmp_path: Path) -> None:
    page, results = tmp_path / "performance.md", tmp_path / "results.jsonl"
    page.write_text(PAGE)
    results.write_text(lines("flat", 7.25) + lines("partitioned", 6.5))
    done = rendered(page, results)
    assert done.returncode == 0, done.stderr
    text = page.read_text()
    assert "99.9" not in text
    assert "Old and not measured again." in text
    headings = [line for line in text.splitlines() if line.startswith("### ")]
    assert headings == [
        "### A cold spark-submit, 10,000 flights",
        "### Write steps, lineitem, scale factor 1, flat",
        "### Write steps, lineitem, scale factor 1, partitioned",
    ]
    assert text.index("| upsert_u1 | 60,188 | 7.25 |") < text.index("| upsert_u1 | 60,188 | 6.50 |")
    assert text.startswith("# Performance\n\nBefore.\n")
    assert text.endswith("<!-- results: end -->\n\nAfter.\n")
    assert re.findall(r"\]\((.*\.svg)\)", text) == [
        "performance-upsert-1-flat.svg",
        "performance-upsert-1-partitioned.svg",
    ]
    once = page.read_text()
    rendered(page, results)
    assert page.read_text() == once


@pytest.mark.parametrize("marker", ["<!-- results: begin -->", "<!-- results: end -->"])
def test_a_page_without_markers_is_refused(tmp_path: Path, marker: str) -> None:
    page, results = tmp_path / "performance.md", tmp_path / "results.jsonl"
    page.write_text(PAGE.replace(marker, ""))
    results.write_text(lines("flat", 7.25))
    done = rendered(page, results)
    assert done.returncode != 0
    assert "no markers" in done.stderr


def test_several_writers_and_tables_on_a_store_have_sections(tmp_path: Path) -> None:
    page, results = tmp_path / "performance.md", tmp_path / "results.jsonl"
    page.write_text(PAGE)
    about = {"date": "2026-11-23", "command": "python writers.py", "repeat": 1, "upserts": 20}
    about |= {"storage": "local", "table_type": "copy_on_write"}
    told = {"engine": "pyhudi_in_process", "step": "disjoint, 8", "run": 1, "seconds": 2.0}
    told |= {"commits_per_second": 7.25, "median_seconds": 0.5, "tries_again": 3, "failed": 0}
    told |= {"is_right": True, "anomalies": 0, "load": 3.2}
    found = [{"about": about}, told, {"ended": True}]
    text = "".join(json.dumps({"benchmark": "writers", **each}) + "\n" for each in found)
    disk = {"engine": "pyhudi", "step": "upsert_u1", "run": 1, "seconds": 2.0, "load": 1.0}
    store = {**disk, "engine": "pyhudi_s3", "seconds": 2.5, "requests_get": 12}
    about = {**about, "command": "python upsert.py", "scale_factor": "1", "layout": "flat"}
    found = [{"about": {**about, "storage": "s3"}}, disk, store, {"ended": True}]
    text += "".join(json.dumps({"benchmark": "upsert", **each}) + "\n" for each in found)
    results.write_text(text)
    done = rendered(page, results)
    assert done.returncode == 0, done.stderr
    text = page.read_text()
    assert "| pyhudi_in_process | disjoint | 8 | 7.25 | 0.50 | 3 | 0 |" in text
    assert "### Write steps, lineitem, scale factor 1, flat, on S3" in text
    assert "Old, 99.9 s." in text
    assert "| upsert_u1 | 2.00 | 2.50 | 1.25 |" in text


def bootstrap_lines() -> str:
    about = {"date": "2026-11-23", "command": "python bootstrap.py", "repeat": 1}
    about |= {"scale_factor": "1", "source_bytes": 200_000_000}
    steps = [
        ("pyhudi", "bootstrap_metadata", 4.0, {"bytes_written": 20_000_000}),
        ("plain_files", "bootstrap_metadata", 0.0, {"bytes_written": 0}),
        ("hudi", "bootstrap_metadata", 16.0, {"bytes_written": 30_000_000}),
        ("pyhudi", "read", 0.06, {}),
        ("plain_files", "read", 0.05, {}),
        ("pyhudi", "whole", 1.2, {}),
        ("pyhudi", "files", 0.8, {}),
        ("pyhudi", "metadata_one_key", 1.0, {}),
        ("pyhudi", "metadata_four_keys", 2.0, {}),
    ]
    found: list[dict[str, object]] = [{"about": about}]
    for engine, step, seconds, more in steps:
        line = {"engine": engine, "step": step, "rows": 10, "seconds": seconds, "run": 1}
        found.append({**line, **more})
    found.append({"ended": True})
    return "".join(json.dumps({"benchmark": "bootstrap", **line}) + "\n" for line in found)


def test_a_bootstrap_says_what_was_to_be_reached_and_what_was(tmp_path: Path) -> None:
    page, results = tmp_path / "performance.md", tmp_path / "results.jsonl"
    page.write_text(PAGE)
    results.write_text(bootstrap_lines())
    done = rendered(page, results)
    assert done.returncode == 0, done.stderr
    text = page.read_text()
    assert "### A dataset made a table, lineitem, scale factor 1" in text
    assert "| bootstrap_metadata | 10 | 4.00 | 16.0 (4.0x) | - |" in text
    assert "metadata alone writes 20.0 MB beside 200 MB of the source, 10.0%" in text
    assert "metadata alone, of Hudi's time: 0.25, at most 0.2 was asked for: NOT reached" in text
    assert "a column read, of pyarrow's time: 1.20, at most 1.3 was asked for: reached" in text
    assert "its files and the dataset's: 1.50, at most 1.3" in text
    assert "keys of four columns, of the time that keys of one take: 2.00, at most 4.0" in text
    assert "source_bytes" not in text
