import pyarrow as pa
from hypothesis import given
from hypothesis import strategies as st

from pyhudi.schema.evolution.misfits import misfit_rows

_ELEMENT = pa.struct([("a", pa.int64())])
_NARROW = pa.struct([pa.field("a", pa.int32(), nullable=False)])
_LISTS = {"l": pa.large_list(_ELEMENT), "m": pa.map_(pa.string(), _ELEMENT)}
_KINDS = pa.schema({"s": _ELEMENT, **_LISTS, "n": pa.int64()})
_TARGET = pa.schema(
    [
        ("s", _NARROW),
        ("l", pa.list_(_NARROW)),
        ("m", pa.map_(pa.string(), _NARROW)),
        pa.field("n", pa.int64(), nullable=False),
        ("absent", pa.string()),
    ]
)
_NULL, _WIDE = "is null and may not be", "holds a value that does not fit int32"
_VALUES = st.none() | st.sampled_from([0, 2**31 - 1, 2**31, 2**40])
_STRUCTS = st.none() | st.fixed_dictionaries({"a": _VALUES})
_ROWS = st.lists(
    st.fixed_dictionaries(
        {
            "s": _STRUCTS,
            "l": st.none() | st.lists(_STRUCTS, max_size=3),
            "m": st.none() | st.dictionaries(st.text(max_size=1), _STRUCTS, max_size=3),
            "n": _VALUES,
        }
    ),
    max_size=6,
)


def _plain(rows):
    """Each cause with the rows it applies to, in plain Python."""
    inside = {
        "s": lambda row: [row["s"]],
        "l.element": lambda row: row["l"] or [],
        "m.value": lambda row: list((row["m"] or {}).values()),
    }
    expected = {f"column n {_NULL}": [row["n"] is None for row in rows]}
    for path, values in inside.items():
        found = [[v["a"] for v in values(row) if v is not None] for row in rows]
        expected[f"column {path}.a {_NULL}"] = [None in each for each in found]
        expected[f"column {path}.a {_WIDE}"] = [
            any(v is not None and v >= 2**31 for v in each) for each in found
        ]
    return {cause: mask for cause, mask in expected.items() if any(mask)}


@given(_ROWS, st.integers(0, 3))
def test_rows_that_do_not_fit_are_found_at_any_depth(rows, start):
    pairs = [{**r, "m": None if r["m"] is None else list(r["m"].items())} for r in rows]
    table = pa.Table.from_pylist(pairs, schema=_KINDS).slice(start)
    found = {cause: mask.tolist() for cause, mask in misfit_rows(table, _TARGET)}
    assert found == _plain(rows[start:])
