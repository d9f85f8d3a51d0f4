"""The speed of routing, of asking an archive and of covering on Spark.

    PipelineBench (schemas, sizes, Spark sessions) ──generate──► documents, expressions
                                                   └──► pipeline_speed: rows beside goals

Spark is imported when the rows are measured.
"""

from __future__ import annotations

from lab.benchmarks.pipeline.bench import (
    FULL_PIPELINE,
    QUICK_PIPELINE,
    PipelineBench,
    PipelineSizes,
)
from lab.benchmarks.pipeline.speed import pipeline_speed

__all__ = ["FULL_PIPELINE", "QUICK_PIPELINE", "PipelineBench", "PipelineSizes", "pipeline_speed"]
