"""The laboratory: how fast Twigcast is, what the papers printed, and whether routing is right.

    benchmarks ──► rows of figures beside goals      ``twigcast-lab bench``
         │
         ▼ measure, charts
    experiments ──► tables, plots, remarks           ``twigcast-lab experiment``
         ▲
    published: the papers' figures, and the algorithms that we compare ourselves with

    histories: random lives of networks, and an oracle that says what must come of them

The laboratory is the distribution ``twigcast-lab``, apart from ``twigcast``: whoever installs
Twigcast gets none of it.  It uses Twigcast as any program does, through what the packages export.
``make setup`` installs it.
"""
