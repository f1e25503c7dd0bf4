"""What lies in a table's folder, for tests that compare it before and after."""

import hashlib
from pathlib import Path


def tree(folder: Path) -> dict[str, str]:
    """A hash of every file below a folder by its path, and the empty hash for every folder."""
    return {
        str(path.relative_to(folder)): "" if path.is_dir() else _hash(path)
        for path in sorted(folder.rglob("*"))
    }


def data_files(folder: Path, instant: str = "") -> list[str]:
    """The base files below a folder, those of one instant or all, relative to it."""
    return sorted(
        str(path.relative_to(folder))
        for path in folder.rglob(f"*{instant}.*")
        if path.suffix in (".parquet", ".orc") and ".hoodie" not in path.relative_to(folder).parts
    )


def signs_of_work(table: Path) -> list[Path]:
    """Heartbeats, and folders of markers."""
    return [
        path for name in (".heartbeat", ".temp") for path in (table / ".hoodie" / name).iterdir()
    ]


def _hash(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def files_of_rows(folder: Path) -> set[str]:
    """The base files and log files below a folder, relative to it."""
    found = {path.relative_to(folder) for path in folder.rglob("*") if path.suffix != ".crc"}
    return {
        str(path)
        for path in found
        if ".hoodie" not in path.parts and (".log." in path.name or path.suffix == ".parquet")
    }
