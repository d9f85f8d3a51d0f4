"""What generated documents say, and generated subscriptions ask for.

A :class:`Vocabulary` is given to both, so that a comparison in a subscription is passed by a share
of the documents that can be foretold.  Its fields are the only settings; which element holds
numbers and which holds words follows from names alone (:mod:`twigcast.workload.values`).
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from twigcast.errors import WorkloadError
from twigcast.language import NAME

_WORDS = """
    able across acorn active added afternoon agenda aisle album almond alpine amber anchor answer
    apple apron arch arena arrow artist atlas attic autumn avenue badge baker balance balcony
    bamboo banner barley barn basin basket beacon bench berry bicycle blanket border bottle
    branch bread breeze brick bridge bronze brook bucket budget butter button cabin café calendar
    camera canal candle canvas captain carpet castle cedar cellar census chalk charter chapel
    cherry circle citizen clay climate clinic cloak clock cloud clover coast cobalt coffee college
    column comet compass concert copper coral corner cotton council courier cousin crane crater
    cricket crystal cupboard current curtain daily dairy dance daylight delta desk diary dinner
    district dock door draft drawer dune early east echo editor elbow election elm engine
    entrance equal evening exhibit façade factory fair falcon family farm feather fern ferry
    festival fiddle field figure finger flag flute fold forest forge fountain fox frame frost
    galaxy garden garlic gate gentle ginger glacier glass globe glove gold grain granite grape
    gravel green guest guide guitar gull hall hammer harbour harvest hazel heater hedge helmet
    herb heron hill history honey horizon hostel hotel hour ice idea inlet island ivory jacket
    jalapeño jar journal journey judge juniper kettle key kitchen kite ladder lagoon lake lamp
    lantern laundry lawn leaf league leather lecture ledge lemon letter library lilac linen lion
    lobby local loom lounge lunch magnet mango maple marble market mast meadow medal melon member
    mentor meteor middle mill mineral minute mirror mist model monday month moon morning mosaic
    motor mountain museum music napkin narrow native needle neighbour nest night north notebook
    novel number oak oasis oats ocean office olive onion opera orange orchard orchid outer oven
    owl oxygen paddle page palace panel paper parade parcel park pasture path peach pearl pebble
    pencil pepper piano picnic pillow pilot pine planet plaza plum pocket poem pond poplar port
    potter powder prairie print prism public puzzle quarry quartz quiet quilt rabbit radio railway
    rain ranch raven reader record reed reef region report reserve ribbon ridge river road robin
    rocket roof root rose round route ruby saddle saffron sail salmon sand school season second
    seed shadow shelf shell shore silver sketch slate slope smooth snow soap song soup south
    spark spoon spring square stable stage station steam stone storm street studio sugar summer
    sunday supper table tailor tea temple tent theatre thread ticket tide timber today tower
    town trade train trail travel treaty tulip tunnel turtle upper urban valley vanilla velvet
    verse village vineyard violet violin visit voice volcano voyage wagon walnut water wave
    weather wheat whistle willow window winter wonder wood wool yard yellow young zebra zenith
"""

WORDS: tuple[str, ...] = tuple(_WORDS.split())
"""Plain words without any bearing on a subject, a few of them beyond ASCII."""

_XML_NAME = re.compile(NAME)
_UNUSABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]|^\s|\s$|^$")


@dataclass(frozen=True, slots=True)
class Vocabulary:
    """The words and numbers of a workload.

    ``words`` are drawn by a Zipf distribution of that ``skew``, whose first word is another one
    for each element and attribute.  Of the elements and attributes whose names do not say it, about
    a share of ``numbers`` hold a whole number from ``lowest`` to ``highest``, each as likely; so do
    those whose names say it, unless ``numbers`` is 0.  Running text has ``shortest`` to ``longest``
    words.
    """

    words: tuple[str, ...] = field(default=WORDS, repr=False)
    skew: float = 1.0
    numbers: float = 0.25
    lowest: int = 0
    highest: int = 999
    shortest: int = 3
    longest: int = 15

    def __post_init__(self) -> None:
        if not self.tokens:
            raise WorkloadError("the vocabulary needs at least one word that is an XML name")
        for word in self.words:
            if _UNUSABLE.search(word) or ('"' in word and "'" in word):
                raise WorkloadError(
                    f"this word cannot stand in documents and expressions: {word!r}"
                )
        if not 0 <= self.skew <= 10:
            raise WorkloadError(f"the skew of words must be between 0 and 10, not {self.skew}")
        if not 0 <= self.numbers <= 1:
            raise WorkloadError(f"the share of numbers must be from 0 to 1, not {self.numbers}")
        if self.lowest >= self.highest:
            raise WorkloadError(
                f"the lowest number must be below the highest, not {self.lowest} and {self.highest}"
            )
        if not 1 <= self.shortest <= self.longest:
            raise WorkloadError(
                "text must have at least one word and no more than its longest, "
                f"not {self.shortest} to {self.longest}"
            )

    @property
    def tokens(self) -> tuple[str, ...]:
        """The words that may stand in an attribute of type NMTOKEN."""
        return tuple(word for word in self.words if _XML_NAME.fullmatch(word))


DEFAULT_VOCABULARY = Vocabulary()
