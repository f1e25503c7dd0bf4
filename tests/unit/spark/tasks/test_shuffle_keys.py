import numpy as np
import pytest

from pyhudi.spark.tasks.shuffle_keys import shuffle_keys, spark_hash_int

# What pyspark 4.2.0 answers for `select hash(x)` of an int column.
SPARK_HASHES = {
    0: 933211791,
    1: -559580957,
    2: 1765031574,
    -1: -1604776387,
    42: 29417773,
    2147483647: 133916647,
    -2147483648: 723455942,
}


def test_hash_of_ints_is_the_one_spark_computes() -> None:
    values = np.array(list(SPARK_HASHES), dtype=np.int32)
    assert spark_hash_int(values).tolist() == list(SPARK_HASHES.values())


@pytest.mark.parametrize("partitions", [1, 2, 7, 200, 4096])
def test_each_salt_lands_in_its_own_partition(partitions: int) -> None:
    hashes = spark_hash_int(shuffle_keys(partitions)).astype(np.int64)
    assert np.array_equal(np.mod(hashes, partitions), np.arange(partitions))


def test_salts_leave_their_input_hash_untouched_by_the_number_of_partitions() -> None:
    assert np.array_equal(shuffle_keys(500)[:20], shuffle_keys(20))


@pytest.mark.parametrize("partitions", [0, -1, 1 << 31])
def test_a_number_of_partitions_spark_cannot_have_is_refused(partitions: int) -> None:
    with pytest.raises(ValueError, match="num_partitions"):
        shuffle_keys(partitions)
