"""Names of storage options."""

import pytest

from pyhudi.config.access.storage_options import (
    OPTIONS_BY_SCHEME,
    check_options_of_scheme,
    check_storage_options,
)
from pyhudi.errors import OptionError


def test_a_misspelt_option_is_refused_with_the_nearest_name() -> None:
    with pytest.raises(OptionError, match=r"^here: secret_kye is no option .* mean secret_key\?"):
        check_storage_options({"region": "x", "secret_kye": "x"}, "here")


def test_an_option_of_another_storage_is_refused() -> None:
    check_storage_options({"account_key": "x"}, "here")
    with pytest.raises(OptionError, match="account_key is no option of s3"):
        check_options_of_scheme("s3", {"account_key": "x"}, "here")


def test_half_a_pair_of_keys_is_refused() -> None:
    with pytest.raises(OptionError, match="go together"):
        check_options_of_scheme("s3", {"secret_key": "x"}, "here")


def test_hadoop_s_own_keys_are_for_hdfs() -> None:
    check_storage_options({"dfs.client.use.datanode.hostname": "true"}, "here")
    check_options_of_scheme("hdfs", {"dfs.replication": "2"}, "here")
    with pytest.raises(OptionError, match=r"dfs.replication is no option of s3"):
        check_options_of_scheme("s3", {"dfs.replication": "2"}, "here")


@pytest.mark.parametrize("scheme", OPTIONS_BY_SCHEME)
def test_every_option_is_accepted_where_it_belongs(scheme: str) -> None:
    check_storage_options(OPTIONS_BY_SCHEME[scheme], "here")
    check_options_of_scheme(scheme, OPTIONS_BY_SCHEME[scheme], "here")
