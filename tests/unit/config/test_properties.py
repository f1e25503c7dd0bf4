"""Java properties, against what java.util.Properties itself reads and writes."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pyhudi.config.properties import dump, parse, table_checksum
from tests.support.golden import golden_names, golden_table

WRITTEN_BY_JAVA = [
    ("a b", "a b", r"a\ b=a b"),
    (" lead", "  two lead", r"\ lead=\  two lead"),
    ("k:=#!", "v:=#! x", r"k\:\=\#\!=v\:\=\#\! x"),
    ("back\\slash", "back\\slash\\", r"back\\slash=back\\slash\\"),
    ("tab\tnl\ncr\rff\f", "x", r"tab\tnl\ncr\rff\f=x"),
    ("é日本", "é日本", r"\u00E9\u65E5\u672C=\u00E9\u65E5\u672C"),
    ("😀x", "~\x7f\x01", r"\uD83D\uDE00x=~\u007F\u0001"),
    ("", "", "="),
]

READ_BY_JAVA = {
    "   spaced = v \n": {"spaced": "v "},
    "k1:v1\nk2 v2\n\tk8\t=\tz\n": {"k1": "v1", "k2": "v2", "k8": "z"},
    "k3   =  v3\\\n    continued\n": {"k3": "v3continued"},
    "k4\n": {"k4": ""},
    "k5=a\\u00e9\\uD83D\\uDE00b\\z\\\\\n": {"k5": "aé😀bz\\"},
    "ke\\ y\\=x=1\nk6==x\n": {"ke y=x": "1", "k6": "=x"},
    "k7=a\\\\\nk9=line\\nbreak\r\n": {"k7": "a\\", "k9": "line\nbreak"},
    "k10=x\\\n\n#k11=x\n": {"k10": "x"},
    "k12=\\\n# no comment\n   \nlast=end\\": {"k12": "# no comment", "last": "end"},
    "# c\n! c2\n": {},
    "a=1\na=2\n": {"a": "2"},
}


@pytest.mark.parametrize(("key", "value", "line"), WRITTEN_BY_JAVA)
def test_a_property_is_escaped_as_java_escapes_it(key: str, value: str, line: str) -> None:
    assert dump({key: value}) == f"{line}\n"


@pytest.mark.parametrize(("text", "found"), READ_BY_JAVA.items())
def test_a_text_means_what_java_reads_in_it(text: str, found: dict[str, str]) -> None:
    assert parse(text) == found


@given(st.dictionaries(st.text(), st.text()), st.lists(st.text(), max_size=2))
def test_properties_come_back_as_they_went(found: dict[str, str], comments: list[str]) -> None:
    assert parse(dump(found, comments)) == found


@pytest.mark.parametrize("name", golden_names("v6_"))
def test_the_checksum_of_every_table_of_hudi_is_that_of_its_names(name: str) -> None:
    path = golden_table(name) / ".hoodie" / "hoodie.properties"
    found = parse(path.read_text(encoding="latin-1"))
    checksum = table_checksum(found.get("hoodie.database.name", ""), found["hoodie.table.name"])
    assert found["hoodie.table.checksum"] == str(checksum)


def test_checksums_known_from_hudi() -> None:
    assert table_checksum("", "t") == 498511606
    assert table_checksum("db", "t") == 2184977423
