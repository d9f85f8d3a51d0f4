"""What is counted: messages by kind, crossings that were of no use, hops and delays."""

from __future__ import annotations

import doctest
from collections import Counter
from math import isclose
from random import Random

import pytest

from twigcast.language import parse
from twigcast.routing import (
    ANYTHING,
    Link,
    Network,
    Overlay,
    Strategy,
)
from twigcast.schema import Schema
from twigcast.simulation import Counts, Delays, Simulation, Traffic, balanced_tree, chain, traffic

FLOODING = Strategy.named("flooding")
NEWS = b"<news><p>1</p><q/></news>"


def watched(overlay: Overlay, strategy: Strategy | None = None) -> tuple[Network, Traffic]:
    counting = Traffic()
    return Network(overlay, strategy, observer=counting), counting


def kinds(counts: Counts) -> tuple[int, int, int, int, int]:
    return (
        counts.advertise,
        counts.unadvertise,
        counts.subscribe,
        counts.unsubscribe,
        counts.publish,
    )


def test_the_example_of_the_documentation_holds() -> None:
    assert doctest.testmod(traffic).failed == 0


# --- messages by kind ------------------------------------------------------------------------


def test_flooding_takes_each_subscription_to_every_broker_once() -> None:
    network, counting = watched(balanced_tree(3, 2), FLOODING)
    network.attach("desk", "b7")
    network.subscribe_all("desk", {"1": parse("/a"), "2": parse("/a/b")})
    network.settle()
    assert kinds(counting.total) == (0, 0, 14, 0, 0)
    assert counting.received_by_brokers == 14
    assert set(counting.by_broker) == set(network.overlay)
    assert all(counts.subscribe == 2 for counts in counting.by_broker.values())
    network.unsubscribe("desk", "1")
    network.settle()
    assert kinds(counting.total) == (0, 0, 14, 7, 0)


def test_covering_withdraws_what_a_wider_subscription_replaces() -> None:
    network, counting = watched(chain(3), Strategy.named("covering"))
    network.attach("desk", "b3")
    for key, text in (("1", "/a/b"), ("2", "/a/b/c"), ("3", "/a")):
        network.subscribe("desk", key, text)
        network.settle()
    # To b3 all three; on the two links, /a/b and then /a in its place.
    assert counting.by_direction["desk", "b3"].subscribe == 3
    for pair in (("b3", "b2"), ("b2", "b1")):
        assert kinds(counting.by_direction[pair]) == (0, 0, 2, 1, 0)
    assert counting.received_by_brokers == 3 + 2 * 3


def test_with_advertisements_only_the_way_to_the_producer_is_told() -> None:
    network, counting = watched(balanced_tree(3, 2))
    network.attach("feed", "b4")
    network.attach("desk", "b5")
    network.advertise("feed", "all", ANYTHING)
    network.subscribe("desk", "1", "/news")
    network.settle()
    publish(network, NEWS)
    # Advertised to 7 brokers; told from b5 to b2 to b4; published to b4, b2, b5.
    assert kinds(counting.total) == (7, 0, 3, 0, 3)
    assert counting.received_by_brokers == 13
    assert counting.on_link(Link("b2", "b5")).publish == 1
    assert counting.on_link(Link("b1", "b2")).publish == 0
    assert (counting.documents, counting.deliveries) == (1, 1)
    network.unadvertise("feed", "all")
    network.settle()
    assert counting.total.unadvertise == 7


def test_what_keeps_the_overlay_together_is_counted_apart() -> None:
    network, counting = watched(chain(3))
    network.settle()
    assert counting.total == Counts()  # the plan is known to all
    network.attach("feed", "b1")
    network.advertise("feed", "all", ANYTHING)
    network.settle()
    # b3 and b2 each open a channel towards the producer.
    assert (counting.total.channels, counting.received_by_brokers) == (2, 3)
    network.cut("b2", "b3")
    network.settle()
    # b2 tells b1; b3 has nobody to tell.
    assert counting.total.link_states == counting.by_broker["b1"].link_states == 1
    assert counting.received_by_brokers == 3


def test_refusals_are_counted() -> None:
    network, counting = watched(chain(1))
    network.attach("feed", "b1")
    network.publish("feed", NEWS)  # not advertised
    network.publish("feed", b"<broken")
    network.settle()
    assert (counting.refusals, counting.total.publish) == (2, 2)


@pytest.mark.parametrize("content", ["<ä/>", "<ä/>".encode(), memoryview("<ä/>".encode())])
def test_sizes_are_in_bytes(content: str | bytes | memoryview) -> None:
    network, counting = watched(chain(2), FLOODING)
    network.attach("feed", "b1")
    network.attach("desk", "b2")
    network.subscribe("desk", "1", "/*")
    network.settle()
    network.publish("feed", content)
    network.settle()
    assert counting.on_link(Link("b1", "b2")).content_bytes == 5


# --- false positives -------------------------------------------------------------------------

SHOP = """
<!ELEMENT shop (item*)>
<!ELEMENT item (x1|x2|x3|x4|x5|x6|x7|x8|x9|x10)>
""" + "".join(f"<!ELEMENT x{number} EMPTY>" for number in range(1, 11))


def shop(*numbers: int) -> bytes:
    items = "".join(f"<item><x{number}/></item>" for number in numbers)
    return f"<shop>{items}</shop>".encode()


@pytest.fixture
def merged_shop(tmp_path_factory: pytest.TempPathFactory) -> tuple[Network, Traffic]:
    """A desk behind two links that wants nine of ten kinds, and is told of as wanting all.

    b1 (feed) - b2 - b3 (desk); b2 - b4 (other)
    """
    path = tmp_path_factory.mktemp("shop") / "shop.dtd"
    path.write_text(SHOP)
    overlay = Overlay(["b1", "b2", "b3", "b4"], [("b1", "b2"), ("b2", "b3"), ("b2", "b4")])
    network, counting = watched(overlay, Strategy.named("imperfect-merging"))
    network.attach("feed", "b1")
    network.attach("desk", "b3")
    network.attach("other", "b4")
    network.advertise("feed", "shop", Schema.from_dtd(path, root="shop"))
    for number in range(1, 10):
        network.subscribe("desk", str(number), f"/shop/item/x{number}")
    network.subscribe("other", "1", "/shop/item/x1")
    network.settle()
    told = [each for each in network.routers["b2"].subscriptions() if each.last_hop == "b3"]
    assert len(told) == 1, "the nine are told as one"
    return network, counting


def publish(network: Network, content: bytes) -> None:
    network.publish("feed", content)
    network.settle()


def wasted(counting: Traffic) -> dict[str, int]:
    return {
        f"{a}-{b}": counts.wasted
        for (a, b), counts in counting.by_direction.items()
        if counts.wasted
    }


def test_a_crossing_beyond_which_nobody_gets_the_document_is_wasted(
    merged_shop: tuple[Network, Traffic],
) -> None:
    network, counting = merged_shop
    publish(network, shop(2))  # to the desk
    publish(network, shop(1))  # to both
    assert wasted(counting) == {}
    assert counting.deliveries == 3
    publish(network, shop(10))  # the merger matches, nobody wants it
    assert wasted(counting) == {"b1-b2": 1, "b2-b3": 1}
    assert counting.in_transit == 0


def test_a_crossing_is_wasted_though_another_one_of_the_same_document_is_not(
    merged_shop: tuple[Network, Traffic],
) -> None:
    network, counting = merged_shop
    network.subscribe("other", "10", "/shop/item/x10")
    network.settle()
    publish(network, shop(10))
    assert counting.deliveries == 1
    assert wasted(counting) == {"b2-b3": 1}


def test_crossings_are_those_of_a_snapshot(merged_shop: tuple[Network, Traffic]) -> None:
    network, counting = merged_shop
    frozen = network.freeze()
    before = {pair: counts.publish for pair, counts in counting.by_direction.items()}
    crossed: Counter[tuple[str, str]] = Counter()
    in_vain: Counter[tuple[str, str]] = Counter()
    random = Random(1)
    for _ in range(60):
        numbers = random.sample(range(1, 11), random.randint(1, 3))
        publish(network, shop(*numbers))
        route = frozen.route(shop(*numbers), at="b1")
        crossed.update(route.crossings)
        in_vain.update(route.wasted())
    between = {pair: counts for pair, counts in counting.by_direction.items() if pair[0] != "feed"}
    published = {pair: counts.publish - before[pair] for pair, counts in between.items()}
    assert {pair: count for pair, count in published.items() if count} == crossed
    assert {pair: counts.wasted for pair, counts in between.items() if counts.wasted} == in_vain
    assert in_vain


# --- hops and delays -------------------------------------------------------------------------


def test_hops_are_the_links_between_brokers() -> None:
    network, counting = watched(chain(4))
    network.attach("feed", "b1")
    network.advertise("feed", "all", ANYTHING)
    for number, client in ((1, "here"), (2, "near"), (4, "far")):
        network.attach(client, f"b{number}")
        network.subscribe(client, "1", "/news")
    network.settle()
    for _ in range(2):
        publish(network, NEWS)
    hops = {hops: delays.count for hops, delays in counting.delays_by_hops.items()}
    assert hops == {0: 2, 1: 2, 3: 2}
    assert counting.delays.greatest == 0, "a network without a clock knows no delays"


def test_quantiles_are_right_within_a_hundredth() -> None:
    delays = Delays()
    for number in range(1, 1001):
        delays.add(number / 1000)
    delays.add(0.0)
    assert (delays.count, delays.least, delays.greatest) == (1001, 0.0, 1.0)
    assert isclose(delays.mean, 500.5 / 1001)
    assert delays.quantile(0) == 0.0
    for share in (0.01, 0.5, 0.95, 1.0):
        assert isclose(delays.quantile(share), share, rel_tol=0.011)


def test_delays_join_as_if_they_had_come_together() -> None:
    parts = [Delays() for _ in range(3)]
    whole = Delays()
    for number in range(100):
        parts[number % 3].add(number * 0.01)
        whole.add(number * 0.01)
    joined = Delays.joined(parts)
    assert (joined.count, joined.least, joined.greatest) == (100, 0.0, 0.99)
    assert isclose(joined.total, whole.total)
    assert joined.quantile(0.5) == whole.quantile(0.5)
    assert Delays().quantile(0.5) == Delays().mean == 0.0


# --- memory ----------------------------------------------------------------------------------


def test_documents_are_forgotten_when_they_have_arrived() -> None:
    simulation = Simulation(chain(3), FLOODING)
    simulation.attach("feed", "b1")
    simulation.attach("desk", "b3")
    simulation.subscribe("desk", "1", "/news")
    simulation.run()
    most = 0
    for _ in range(50):
        simulation.publish("feed", NEWS)
        simulation.run(simulation.now + 0.001)  # never at rest
        most = max(most, simulation.traffic.in_transit)
    assert 0 < most < 5
    simulation.run()
    assert simulation.traffic.in_transit == 0
    assert simulation.traffic.deliveries == 50


def test_documents_that_were_lost_are_forgotten_at_rest() -> None:
    simulation = Simulation(chain(3), FLOODING)
    simulation.attach("feed", "b1")
    simulation.attach("desk", "b3")
    simulation.subscribe("desk", "1", "/news")
    simulation.run()
    simulation.publish("feed", NEWS)
    simulation.run(simulation.now + 0.0005)
    simulation.cut("b1", "b2")
    assert simulation.traffic.in_transit == 1
    simulation.run()
    assert simulation.traffic.in_transit == 0
    assert simulation.traffic.deliveries == 0
