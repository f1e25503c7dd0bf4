"""Listings in few requests: what nobody asks for is jumped over, neighbours come together.

Keys come in the order of their bytes, a page at a time, from wherever one likes to begin.
"""

from __future__ import annotations

from collections.abc import Sequence

from pyhudi.storage.objects.calls import PAGE, Calls, Entry


def listed(calls: Calls, prefix: str, *, is_deep: bool, left_out: str | None = None) -> list[Entry]:
    """What lies at a prefix, or below it when ``is_deep``, without what lies at ``left_out``."""
    found: list[Entry] = []
    after: str | None = ""
    while after is not None:
        pages, after = calls.list(prefix, is_deep=is_deep, after=after or None), None
        for page in pages:
            found += page
            if left_out and len(page) >= PAGE and page[-1].key.startswith(f"{left_out}/"):
                # The next character after a slash: nothing of the folder comes after it.
                after = f"{left_out}0"
                break
    # A key with a slash at its end, for the folder itself, comes without it.
    return [
        entry
        for entry in found
        if entry.key != prefix and not (left_out and f"{entry.key}/".startswith(f"{left_out}/"))
    ]


def folders_listed(calls: Calls, root: str, folders: Sequence[str]) -> dict[str, list[Entry]]:
    """The objects of several folders below a root, by folder.

    One page may have those of many small folders; where the next folder lies beyond a page, the
    listing begins anew there.

    Guarantees: never more requests than a listing for each folder, nor than a walk through all.
    """
    found: dict[str, list[Entry]] = {folder: [] for folder in folders}
    ahead = sorted((f"{folder}/" for folder in found), reverse=True)
    while ahead:
        # No file's name is a blank, and all of the folder comes after one.
        for page in calls.list(root, is_deep=True, after=f"{ahead[-1]} "):
            for entry in page:
                while ahead and entry.key > ahead[-1] and not entry.key.startswith(ahead[-1]):
                    ahead.pop()
                folder, _, name = entry.key.rpartition("/")
                if name and folder in found:
                    found[folder].append(entry)
            if len(page) < PAGE:
                return found
            if not ahead or page[-1].key < ahead[-1]:
                break
        else:
            return found
    return found
