"""Loading with settings of our own, without changing the user's Spark session.

The settings of a Spark session decide how it lists and cuts files, and the plan remembers that.  So
a copy of the user's Spark session, with our settings on top, loads the files, and the user's Spark
session gets the plan.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from pyspark.sql import DataFrame, SparkSession


def load_apart(
    spark: SparkSession, load: Callable[[SparkSession], DataFrame], settings: Mapping[str, str]
) -> DataFrame:
    """The frame that ``load`` reads under these settings; it belongs to ``spark``."""
    java: Any = spark._jsparkSession
    apart = SparkSession(spark.sparkContext, java.cloneSession())
    for name, value in settings.items():
        apart.conf.set(name, value)
    frame: Any = load(apart)
    jvm: Any = spark._jvm
    plan = frame._jdf.queryExecution().analyzed()
    return DataFrame(jvm.org.apache.spark.sql.classic.Dataset.ofRows(java, plan), spark)
