"""Where a table of ours is not read alike by all, each with its reason; empty is the aim.

A key is the end of a test's id, `test_name[case]`; a value says what differs and whose it is.
Such a test must fail: it fails the run when the difference is gone.
"""

NO_LOCAL_TIMES_IN_015 = (
    "Hudi 0.15 knows no timestamps without zone: its Avro converter and its vectorised reader "
    "refuse them in tables of any writer, its own 1.1.1 included"
)
NO_LOCAL_TIMES_IN_HUDI_RS = (
    "hudi-rs 0.5.0 panics (not yet implemented) on timestamps without zone, in Hudi's tables too"
)
NO_FRACTIONS_IN_ORC = (
    "Hudi's AvroOrcUtils takes the fractions of ORC timestamps for what comes on top of their "
    "milliseconds: rows that it rewrites are shifted, in Hudi's own tables too"
)
NO_UNKNOWN_DMS_DELETES_IN_11 = (
    "Hudi 1.1.1 fails on a D row of a key that its file lacks (AWSDmsAvroPayload.getInsertValue: "
    "No value present in Option), in its own tables"
)
NEWEST_CHANGE_DATA_IN_11 = (
    "Hudi 1.1.1 deletes the change data of the newest slices of its own table of version 6 when it "
    "cleans by file versions; 0.15 keeps it, and so do we"
)
_MERGING = "test_both_make_the_same_of_every_case_and_continue_each_other"

KNOWN_DIFFERENCES: dict[str, str] = {
    f"{_MERGING}[1.1.1-dms]": NO_UNKNOWN_DMS_DELETES_IN_11,
    f"{_MERGING}[1.1.1-dms unordered]": NO_UNKNOWN_DMS_DELETES_IN_11,
    "test_we_delete_what_hudi_deletes_of_what_it_wrote[1.1.1-v6_cow_cdc]": (
        NEWEST_CHANGE_DATA_IN_11
    ),
    "test_hudi_keeps_fractions_of_seconds_in_orc_files[0.15.0]": NO_FRACTIONS_IN_ORC,
    "test_hudi_keeps_fractions_of_seconds_in_orc_files[1.1.1]": NO_FRACTIONS_IN_ORC,
    "test_hudi_reads_our_orc_files[0.15.0-orc_local]": NO_LOCAL_TIMES_IN_015,
    "test_hudi_reads_and_validates_what_we_wrote[0.15.0-local_times]": NO_LOCAL_TIMES_IN_015,
    "test_hudi_travels_back_in_time_over_our_commits[0.15.0-local_times]": NO_LOCAL_TIMES_IN_015,
    "test_hudi_reads_the_changes_since_our_first_commit[0.15.0-local_times]": NO_LOCAL_TIMES_IN_015,
    "test_hudi_and_we_take_turns_in_writing[0.15.0-local_times]": NO_LOCAL_TIMES_IN_015,
    "test_hudi_rs_reads_what_we_wrote[local_times]": NO_LOCAL_TIMES_IN_HUDI_RS,
}

NOT_DRAWN: dict[str, str] = {
    "rivals under commit time in 1.1": (
        "records of one key in a batch: 0.15 and we keep the highest ordering value under "
        "OverwriteWithLatestAvroPayload, 1.1 the last to arrive, an order that Spark does "
        "not define"
    ),
    "late rows under commit time in log files of 0.15": (
        "of two records of a key in log files 0.15 keeps the highest ordering value, and beside a "
        "base file the later one, so that rows depend on when it compacts; 1.1 and we always keep "
        "the later one"
    ),
    "ordering by dates in 1.1": (
        "1.1 fails by accident when it compares ordering values that are dates; we compare them"
    ),
    "inserts of known keys into merge-on-read tables, and into all tables in 1.1": (
        "of several rows of one key in a base file a reader of Hudi, and an upsert of 1.1, changes "
        "the first; its compaction and an upsert of 0.15 change all of them, and so do we"
    ),
    "bulk inserts of lists in 0.15": (
        "0.15 loses the lists of rows that its row writer made when an upsert rewrites their file"
    ),
    "deletes right after bulk inserts into merge-on-read tables in 1.1": (
        "1.1 fails with a NullPointerException in HoodieWriteHandle.getWriteSchema, in its own "
        "tables too"
    ),
    "ordering by texts in Parquet log blocks of 1.1": (
        "1.1 compares other texts than those of the two rows when it compacts them: late rows win "
        "and later ones of the same value lose, in its own tables too"
    ),
    "log compactions after rollbacks and restores in 1.1": (
        "1.1 fails with a NullPointerException in FileGroupReaderBasedAppendHandle.close where the "
        "log files of a slice have no record left, in its own tables too"
    ),
    "partition columns in the changes of merge-on-read tables in 1.1": (
        "1.1 answers incremental queries with the values as they are escaped in partition paths; "
        "its other queries and we have the values that were written"
    ),
    "bootstraps by partition columns that are no texts, or with special characters": (
        "0.15 makes texts of numbers that the files have, which we keep; what either release makes "
        "of special characters is in bootstrap_cases.py, whose tables are compared one by one"
    ),
    "bootstraps of rows without a partition value in folders that name the column": (
        "Hudi takes the schema of one file, and the type of the column from that file's folder: "
        "where it is this one, the table has a column of no type"
    ),
    "upserts without ordering column in 0.15": (
        "0.15 takes the column ts when none is named, and fails when there is no such column"
    ),
}
"""What the random histories of test_differential.py leave out: there Hudi differs from itself, or
fails by accident."""
