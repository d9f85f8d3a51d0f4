"""In calm each link carries a document at most once for each unit that has it, owed or not."""

from __future__ import annotations

from collections import Counter
from random import Random

import pytest
from delivery_net import Net

from twigcast.delivery import Addressed, Route, Routed
from twigcast.language import parse
from twigcast.routing import LinkKind, LinkUp, Subscribe
from twigcast.simulation.delivery.drawn_worlds import Drawn, draw_beside, draw_units
from twigcast.simulation.delivery.world import World
from twigcast.simulation.topologies import hierarchy

_SIZES = ((3, 2), (3, 3), (2, 2, 2), (2, 2, 3), (2, 3, 2), (3, 2, 2))
_DOCUMENTS = 2


@pytest.mark.parametrize("strategy", ["flooding", "covering", "advertisements", "xnet"])
def test_each_link_carries_a_document_once(strategy: str, monkeypatch: pytest.MonkeyPatch) -> None:
    crossed: Counter[tuple[object, ...]] = Counter()
    say = World._say

    def count(world: World, sender: str, receiver: str, message: object) -> None:
        content = message.content if isinstance(message, Addressed) else message
        if isinstance(content, Routed):
            crossed[sender, receiver, content.depth, content.parcel.id] += 1
            assert not isinstance(message, Addressed), f"{content} is sent by itself"
        say(world, sender, receiver, message)

    monkeypatch.setattr(World, "_say", count)
    for seed in range(30):
        random = Random(seed)
        drawn = _draw(random)
        net = Net((drawn.links, drawn.gateways), strategy=strategy, random=random)
        for home in drawn.homes:
            net.subscribe(home)
        for broker in random.sample(list(drawn.brokers), random.choice((0, 1, 2))):
            _subscribe_ephemerally(net, broker)
        net.settle(3.0)
        origin = random.choice(list(drawn.brokers))
        for _ in range(_DOCUMENTS):
            net.publish(origin)
        net.settle()
        net.settle(10.0)
        assert [len(net.queue(home)) for home in drawn.homes] == [_DOCUMENTS] * len(drawn.homes)
        assert net.owed() == {}, f"with the seed {seed}"
        assert max(crossed.values(), default=1) == 1, f"with the seed {seed}"
        crossed.clear()


def _draw(random: Random) -> Drawn:
    draw = random.choice((draw_beside, draw_units, None))
    if draw is not None:
        return draw(random)
    sizes = random.choice(_SIZES)
    overlay = hierarchy(sizes, random.randint(1, min(3, *sizes[1:])))
    names = list(overlay)
    homes = random.sample(names, random.choice((1, 2, 3)))
    links = [(min(link), max(link)) for link in overlay.links]
    return Drawn(dict.fromkeys(names, True), links, dict(overlay.gateways), homes)


def _subscribe_ephemerally(net: Net, name: str) -> None:
    broker = net[name]
    assert broker.router is not None
    broker.router.handle(LinkUp(LinkKind.CLIENT), "reader")
    sends = broker.router.handle(Subscribe({"k": parse("//a")}), "reader")
    net.world._carry_out(broker, [Route(sends)])
    net.settle()
