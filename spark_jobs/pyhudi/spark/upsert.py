"""The write pipeline: request, target, keys, lookup, file groups, files, commit.

Insert skips the lookup, bulk insert skips lookup and file groups, delete brings keys alone.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from dataclasses import dataclass

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from pyhudi.actions.commit import CommitMetadata, WriteStat
from pyhudi.config.write import Operation, WriteConfig
from pyhudi.errors import RequestError
from pyhudi.filegroup.slices import BaseFile
from pyhudi.jobs import JobResult, UpsertRequest
from pyhudi.services.rollback import recover
from pyhudi.spark.bulk import bulk_insert
from pyhudi.spark.source import Rows, rows_of_frame, rows_of_source
from pyhudi.spark.staging import Keying, StagedBatch, stage
from pyhudi.spark.stopwatch import Stopwatch
from pyhudi.spark.tagging import TaggedBatch, tag
from pyhudi.spark.target import Target, open_target
from pyhudi.spark.writing import write_buckets
from pyhudi.table.table import Table
from pyhudi.timeline.instant import Action
from pyhudi.transaction.transaction import Transaction
from pyhudi.write.buckets import BucketPlan, assign_buckets
from pyhudi.write.profile import WorkloadProfile
from pyhudi.write.sizing import average_record_size

_log = logging.getLogger(__name__)
