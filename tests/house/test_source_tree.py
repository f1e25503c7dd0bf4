"""What the syntax trees of the sources are used for beside the rules."""

from __future__ import annotations

from pathlib import Path

from tests.support.source_tree import seed_of

CODE = """
def doubled(value):
    return value * 2
"""
TOLD = '''"""What it is for."""
# A comment.
LIMIT = 3
"""What the limit is."""

def doubled(value):
    """Twice a value."""

    # Why so.
    return (value *
            2)
'''


def test_the_seed_of_a_random_history_changes_with_the_code_and_not_with_what_is_said_of_it(
    tmp_path: Path,
) -> None:
    seeds = [_seed(tmp_path, text) for text in ("LIMIT = 3" + CODE, TOLD, "LIMIT = 4" + CODE)]
    assert seeds[0] == seeds[1] != seeds[2]


def _seed(folder: Path, text: str) -> int:
    (folder / "part.py").write_text(text, encoding="utf-8")
    return seed_of(folder)
