"""The speed of the pipeline on Spark: all its rows, in one run."""

from __future__ import annotations

from collections.abc import Iterator

from twigcast.experiments.pipeline_bench import PipelineBench
from twigcast.experiments.results import Result


def pipeline_speed(bench: PipelineBench) -> Iterator[Result]:
    """Every row, in the order in which people read them; needs Spark and Java."""
    # Here, because these need Spark, and who imports the experiments may not have it.
    from twigcast.experiments.pipeline_cover import cover_figures, cover_rows
    from twigcast.experiments.pipeline_peers import peer_figures, peer_rows
    from twigcast.experiments.pipeline_query import make_archive, query_figures, query_rows
    from twigcast.experiments.pipeline_route import make_documents, route_figures, route_rows

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
