"""How long a write waits for others."""

import pytest

from pyhudi.config.write import WaitConfig, WriteConfig
from pyhudi.errors import OptionError

KEY = "pyhudi.write.wait.seconds"


@pytest.mark.parametrize(
    ("options", "seconds"), [({}, 900), ({KEY: "0"}, 0), ({KEY: " 1.5 "}, 1.5)]
)
def test_a_write_waits_a_quarter_of_an_hour_unless_it_is_told_otherwise(
    options: dict[str, str], seconds: float
) -> None:
    assert WriteConfig.from_options(options).concurrency.wait == WaitConfig(seconds=seconds)


@pytest.mark.parametrize("text", ["-1", "ten minutes", "inf", "nan"])
def test_a_span_that_is_none_is_refused(text: str) -> None:
    with pytest.raises(OptionError, match=f"{KEY} is '{text}'; allowed: a number, 0 or greater"):
        WriteConfig.from_options({KEY: text})
