"""A merger that a user could have written; tasks and workers find it by its path."""

import pyarrow as pa

JOINING = f"{__name__}:Joining"


class Joining:
    """Strings the values, or names, of a record together; one that says "gone" deletes it."""

    def merge(self, older: pa.Table, newer: pa.Table) -> pa.Table:
        """The joined records."""
        told = "value" if "value" in newer.column_names else "name"
        left, right = older[told].to_pylist(), newer[told].to_pylist()
        joined = pa.array([f"{one}+{other}" for one, other in zip(left, right, strict=True)])
        gone = pa.array([text == "gone" for text in right])
        columns = {name: newer[name] for name in newer.column_names}
        return pa.table({**columns, told: joined, "_hoodie_is_deleted": gone})
