"""Loading with settings of our own, while the user's session stays as it is.

Spark decides how files are listed and cut by the session that loads them, and remembers that in the
plan.  So a copy of the session loads, with all that the user has set, and the plan is handed back.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pyspark.sql import DataFrame, SparkSession


def load_apart(
    spark: SparkSession, load: Callable[[SparkSession], DataFrame], settings: Mapping[str, str]
) -> DataFrame:
    """What ``load`` reads under these settings; the frame belongs to ``spark``."""
    java: Any = spark._jsparkSession
    apart = SparkSession(spark.sparkContext, java.cloneSession())
    for name, value in settings.items():
        apart.conf.set(name, value)
    frame: Any = load(apart)
    jvm: Any = spark._jvm
    plan = frame._jdf.queryExecution().analyzed()
    return DataFrame(jvm.org.apache.spark.sql.classic.Dataset.ofRows(java, plan), spark)
