import pytest

from pyhudi.config.options.evolution import EvolutionConfig, MissingColumns
from pyhudi.errors import OptionError

NULL = "hoodie.write.set.null.for.missing.columns"
RECONCILE = "hoodie.datasource.write.reconcile.schema"
DROP = "hoodie.datasource.write.schema.allow.auto.evolution.column.drop"


@pytest.mark.parametrize(
    ("options", "missing", "keeps_row_order"),
    [
        ({}, MissingColumns.REFUSE, False),
        ({NULL: "true"}, MissingColumns.NULL, False),
        ({RECONCILE: "true"}, MissingColumns.NULL, True),
        ({DROP: "true", NULL: "false"}, MissingColumns.DROP, False),
    ],
)
def test_options_say_what_becomes_of_missing_columns(
    options: dict[str, str], missing: MissingColumns, keeps_row_order: bool
) -> None:
    found = EvolutionConfig.from_options(options)
    assert (found.missing, found.keeps_row_order) == (missing, keeps_row_order)


@pytest.mark.parametrize("other", [NULL, RECONCILE])
def test_missing_columns_are_not_both_kept_and_dropped(other: str) -> None:
    with pytest.raises(OptionError, match=other):
        EvolutionConfig.from_options({DROP: "true", other: "true"})
