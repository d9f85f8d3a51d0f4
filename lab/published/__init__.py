"""What others published: figures, sets of expressions, and algorithms, built here again.

``figures`` has the numbers that the papers print, and ``expression_sets`` the sets of expressions
that they measure with.  :class:`PublishedSearch` is XSEARCH as printed,
:class:`LinearSearch` the search that XSEARCH replaced; both offer what
:class:`twigcast.covering.PatternSearch` offers.
"""

from __future__ import annotations

from lab.published.searches import LinearSearch, PublishedSearch

__all__ = ["LinearSearch", "PublishedSearch"]
