"""The speed of the pipeline on Spark: all its rows, in one run."""

from __future__ import annotations

from collections.abc import Iterator

from lab.benchmarks.pipeline.bench import PipelineBench
from lab.benchmarks.results import Result


def pipeline_speed(bench: PipelineBench) -> Iterator[Result]:
    """Every row, in the order in which people read them; needs Spark and Java."""
    # Here, because these need Spark, and who imports the experiments may not have it.
    from lab.benchmarks.pipeline.cover import cover_figures, cover_rows
    from lab.benchmarks.pipeline.peers import peer_figures, peer_rows
    from lab.benchmarks.pipeline.query import make_archive, query_figures, query_rows
    from lab.benchmarks.pipeline.route import make_documents, route_figures, route_rows

    with bench.scratch():
        with bench.folder() as folder:
            documents = make_documents(bench, folder)
            routed = route_figures(bench, documents, folder)
            yield from route_rows(bench, routed)
            yield from peer_rows(bench, routed[0], peer_figures(bench, documents))
        with bench.folder() as folder:
            archived, seconds = make_archive(bench, folder)
            yield from query_rows(bench, archived, seconds, query_figures(bench, folder))
        with bench.folder() as folder:
            yield from cover_rows(bench, cover_figures(bench, folder))
