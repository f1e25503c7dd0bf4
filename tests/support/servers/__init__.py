"""Servers that tests start: S3, Azure, Google Cloud Storage, HDFS; and a proxy that makes faults.

`setup.sh` builds them once, `fixtures.py` gives them to tests.
"""
