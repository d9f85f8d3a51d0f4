"""Benchmarks: our own speed beside peers and beside goals.

    measure ──┬──► foundation: parsing, trees, one match, overlap ───────────────► Measurement
              ├──► matching.MatchingBench  ──► matching_speed, matching_growth ──┐
              ├──► covering.CoveringBench  ──► covering_speed ───────────────────┼► Result ──► plots
              ├──► pipeline.PipelineBench  ──► pipeline_speed (Spark) ───────────┤  GrowthPoint
              └──► broker.BrokerBench      ──► broker_speed (processes, gRPC) ───┘

Each folder is one subject.  Its ``bench`` module has what its rows share: the sizes, the workload
and the goals.  Every other module is a few rows and states their workload.

:func:`~lab.benchmarks.measure.measure` times several methods to do the same work in alternating
rounds, so that what else the machine does hits all of them alike, and keeps the spread beside the
median.  Ratios within a run are what counts; absolute times are noisy.

:mod:`lab.benchmarks.record` keeps the results of a release, and says which rows became worse since.
"""
