"""Expressions of XPath 1.0 and small documents, at random: for comparisons with libxml2."""

from __future__ import annotations

from random import Random

AXES = (
    "child descendant descendant-or-self self parent ancestor ancestor-or-self following-sibling"
    " preceding-sibling following preceding attribute"
).split()
TESTS = "* a b c node() text() comment() processing-instruction()".split()
TEXTS = ("''", "'1'", "'a'", "'2.5'", "' 1 2 '", "'ab'", "'-3'")
NUMBERS = ("0", "1", "2", "3", "2.5", "-1", "0.5", "10")


class RandomExpressions:
    """Expressions nested a few levels deep."""

    def __init__(self, random: Random) -> None:
        self.random = random

    def nodes(self, depth: int) -> str:
        choice = self.random.random()
        if depth > 0 and choice < 0.1:
            return f"({self.nodes(depth - 1)} | {self.nodes(depth - 1)})"
        if depth > 0 and choice < 0.2:
            return f"({self.nodes(depth - 1)})[{self.predicate(depth - 1)}]"
        start = self.random.choice(("", "", "/", "//", ".//", "../"))
        steps = [self.step(depth) for _ in range(self.random.choice((1, 1, 2, 3)))]
        return start + self.random.choice(("/", "/", "//")).join(steps)

    def step(self, depth: int) -> str:
        axis = self.random.choice(AXES)
        names = TESTS[:5] if axis == "attribute" else TESTS
        step = f"{axis}::{self.random.choice(names)}"
        while depth > 0 and self.random.random() < 0.35:
            step += f"[{self.predicate(depth - 1)}]"
        return step

    def predicate(self, depth: int) -> str:
        choice = self.random.random()
        if choice < 0.25:
            return self.random.choice(("1", "2", "last()", "position() > 1", "last() - 1"))
        if choice < 0.35:
            return self.number(depth)
        return self.boolean(depth)

    def boolean(self, depth: int) -> str:
        if depth <= 0:
            return self.random.choice(("true()", "false()", "a", "@b", "not(b)", "self::a"))
        kind = self.random.randrange(7)
        if kind == 0:
            return self.nodes(depth - 1)
        if kind == 1:
            return f"not({self.boolean(depth - 1)})"
        if kind == 2:
            operator = self.random.choice(("and", "or"))
            return f"({self.boolean(depth - 1)} {operator} {self.boolean(depth - 1)})"
        if kind == 3:
            function = self.random.choice(("contains", "starts-with"))
            return f"{function}({self.text(depth - 1)}, {self.text(depth - 1)})"
        operator = self.random.choice(("=", "!=", "<", "<=", ">", ">="))
        return f"({self.value(depth - 1)} {operator} {self.value(depth - 1)})"

    def value(self, depth: int) -> str:
        makers = (self.nodes, self.nodes, self.number, self.text, self.boolean)
        return self.random.choice(makers)(depth)

    def number(self, depth: int) -> str:
        if depth <= 0:
            return self.random.choice((*NUMBERS, "position()", "last()"))
        kind = self.random.randrange(6)
        if kind == 0:
            return f"count({self.nodes(depth - 1)})"
        if kind == 1:
            return f"sum({self.nodes(depth - 1)})"
        if kind == 2:
            function = self.random.choice(("number", "string-length"))
            return f"{function}({self.value(depth - 1)})"
        if kind == 3:
            function = self.random.choice(("floor", "ceiling", "round", "-"))
            return f"{function}({self.number(depth - 1)})"
        operator = self.random.choice(("+", "-", "*", "div", "mod"))
        return f"({self.number(depth - 1)} {operator} {self.number(depth - 1)})"

    def text(self, depth: int) -> str:
        if depth <= 0:
            return self.random.choice((*TEXTS, "name()", "string()"))
        kind = self.random.randrange(6)
        if kind == 0:
            return f"string({self.value(depth - 1)})"
        if kind == 1:
            function = self.random.choice(("name", "local-name", "namespace-uri"))
            return f"{function}({self.nodes(depth - 1)})"
        if kind == 2:
            return f"concat({self.value(depth - 1)}, {self.value(depth - 1)})"
        if kind == 3:
            number = self.number
            return f"substring({self.text(depth - 1)}, {number(depth - 1)}, {number(depth - 1)})"
        if kind == 4:
            function = self.random.choice(("substring-before", "substring-after"))
            return f"{function}({self.text(depth - 1)}, {self.text(depth - 1)})"
        return self.random.choice(
            (
                f"translate({self.text(depth - 1)}, 'ab1', 'b2')",
                f"normalize-space({self.value(depth - 1)})",
            )
        )


def random_document(random: Random, size: int = 12) -> str:
    """A document with nodes of all kinds."""

    def element(left: int) -> str:
        name = random.choice("abc")
        attributes = "".join(
            f' {attribute}="{random.choice(("1", "2", "a", ""))}"'
            for attribute in "abc"
            if random.random() < 0.3
        )
        content = ""
        while left > 0 and random.random() < 0.8:
            part = random.randint(1, left)
            left -= part
            content += random.choice(
                (element(part - 1), element(part - 1), "1", "2.5", " a ", "<!--b-->", "<?c d?>")
            )
        return f"<{name}{attributes}>{content}</{name}>"

    return element(size)
