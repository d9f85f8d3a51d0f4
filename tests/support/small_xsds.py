"""Small random XSDs, and changes to documents that may leave them valid.

A schema has types that extend and restrict each other, elements that substitute for others, one
name with two types, wildcards, mixed content, ``nillable`` and simple types with facets.  lxml says
which of them are schemas and which documents are valid; nothing here knows what the schema package
makes of them.
"""

from __future__ import annotations

from copy import deepcopy
from random import Random

from lxml import etree

NAMESPACE = "urn:small"
INSTANCE = "http://www.w3.org/2001/XMLSchema-instance"
LOCALS = ("a", "b", "c", "d", "e", "f")
TYPES = ("T0", "T1", "T2", "T3", "T4")
GLOBALS = ("root", "g0", "g1", "g2")
SIMPLE = (
    ("xs:string", ""),
    ("xs:boolean", ""),
    ("xs:date", ""),
    ("xs:integer", '<xs:minInclusive value="3"/><xs:maxInclusive value="7"/>'),
    ("xs:decimal", '<xs:minExclusive value="-2"/><xs:fractionDigits value="1"/>'),
    ("xs:token", '<xs:enumeration value="x"/><xs:enumeration value="y z"/>'),
    ("xs:string", '<xs:enumeration value=" p"/><xs:enumeration value="q"/>'),
    ("xs:string", '<xs:pattern value="[A-C]{2}(-\\d+)?"/>'),
    ("xs:NMTOKEN", '<xs:maxLength value="4"/>'),
)


class SmallXsd:
    """The text of a schema drawn with a seed."""

    def __init__(self, seed: int) -> None:
        self._random = Random(seed)
        self._free: dict[int, set[str]] = {}
        self._mixed: dict[int, bool] = {}
        self._bases: dict[int, str] = {}
        qualified = self._random.random() < 0.7
        parts = [self._type(number) for number in range(len(TYPES))]
        parts += [self._simple(number) for number in range(len(SIMPLE))]
        parts += self._elements()
        form = ' elementFormDefault="qualified"' if qualified else ""
        self.text = (
            f'<xs:schema xmlns:xs="http://www.w3.org/2001/XMLSchema" xmlns:s="{NAMESPACE}" '
            f'targetNamespace="{NAMESPACE}"{form}>{"".join(parts)}</xs:schema>'
        )

    def _chance(self, share: float) -> bool:
        return self._random.random() < share

    def _simple(self, number: int) -> str:
        base, facets = SIMPLE[number]
        return (
            f'<xs:simpleType name="S{number}"><xs:restriction base="{base}">{facets}'
            "</xs:restriction></xs:simpleType>"
        )

    def _elements(self) -> list[str]:
        complex_types = [f"s:T{number}" for number in sorted(self._free)] or ["s:T0"]
        result = [f'<xs:element name="root" type="{self._random.choice(complex_types)}"/>']
        kinds: list[str] = []
        for number, name in enumerate(GLOBALS[1:]):
            head, kind = "", self._any_type()
            if number and self._chance(0.7):
                chosen = self._random.randrange(number)
                head = f' substitutionGroup="s:g{chosen}"'
                kind = self._random.choice(self._derived(kinds[chosen]))
            kinds.append(kind)
            flags = ' nillable="true"' if self._chance(0.2) else ""
            flags += ' block="extension"' if self._chance(0.1) else ""
            result.append(f'<xs:element name="{name}" type="{kind}"{head}{flags}/>')
        # Where nothing can stand for an abstract element, libxml2 lets it be left out.
        if any('Group="s:g0"' in each for each in result) and self._chance(0.4):
            result[1] = result[1].replace("<xs:element", '<xs:element abstract="true"')
        return result

    def _derived(self, kind: str) -> list[str]:
        """The type, and those that extend it."""
        result = [kind]
        for number, base in sorted(self._bases.items()):
            if base in result:
                result.append(f"s:T{number}")
        return result

    def _any_type(self) -> str:
        if self._chance(0.08):
            return "xs:anyType"
        if self._chance(0.5):
            return f"s:S{self._random.randrange(len(SIMPLE))}"
        return f"s:{self._random.choice(TYPES)}"

    def _type(self, number: int) -> str:
        """One type; no two elements of it could be taken for each other."""
        name = f'name="T{number}"' + (' abstract="true"' if self._chance(0.1) else "")
        kind = self._random.random()
        bases = sorted(self._free)
        if bases and kind < 0.4:
            base = self._random.choice(bases)
            self._bases[number] = f"s:T{base}"
            self._free[number] = set(self._free[base])
            self._mixed[number] = self._mixed[base]
            body = self._group(number, 2) + self._attributes(f"e{number}")
            mixed = ' mixed="true"' if self._mixed[number] else ""
            return (
                f"<xs:complexType {name}{mixed}><xs:complexContent>"
                f'<xs:extension base="s:T{base}">{body}</xs:extension>'
                "</xs:complexContent></xs:complexType>"
            )
        if kind < 0.5:
            base_type = self._bases[number] = f"s:S{self._random.randrange(len(SIMPLE))}"
            return (
                f"<xs:complexType {name}><xs:simpleContent>"
                f'<xs:extension base="{base_type}">{self._attributes(f"e{number}")}</xs:extension>'
                "</xs:simpleContent></xs:complexType>"
            )
        self._free[number] = {*LOCALS, "any", "ref"}
        self._mixed[number] = self._chance(0.3)
        mixed = ' mixed="true"' if self._mixed[number] else ""
        return (
            f"<xs:complexType {name}{mixed}>{self._group(number, 2)}{self._attributes('k')}"
            "</xs:complexType>"
        )

    def _occurs(self) -> str:
        least = self._random.choice((0, 0, 0, 1, 1, 2))
        most = self._random.choice((least or 1, least + 1, "unbounded"))
        return f' minOccurs="{least}" maxOccurs="{most}"'

    def _group(self, number: int, depth: int) -> str:
        kind = self._random.choice(("sequence", "choice", "sequence"))
        parts = []
        for _ in range(self._random.randint(1, 3)):
            free = self._free[number]
            if depth > 1 and self._chance(0.25):
                parts.append(self._group(number, depth - 1))
            elif free:
                drawn = self._random.choice(sorted(free))
                free.remove(drawn)
                parts.append(self._part(drawn))
        occurs = self._random.choice(("", ' minOccurs="0"', "")) if depth == 1 else ""
        body = "".join(parts)  # an empty choice would be one that nothing fulfils
        return f"<xs:{kind}{occurs}>{body}</xs:{kind}>" if body else ""

    def _part(self, drawn: str) -> str:
        if drawn == "any":
            process = self._random.choice(("lax", "skip", "strict"))
            return f'<xs:any namespace="##other" processContents="{process}" minOccurs="0"/>'
        if drawn == "ref":
            return f'<xs:element ref="s:{self._random.choice(GLOBALS[1:])}"{self._occurs()}/>'
        nillable = ' nillable="true"' if self._chance(0.2) else ""
        return f'<xs:element name="{drawn}" type="{self._any_type()}"{self._occurs()}{nillable}/>'

    def _attributes(self, prefix: str) -> str:
        result = []
        for number in range(self._random.randrange(3)):
            simple = self._random.randrange(len(SIMPLE))
            use = self._random.choice(("optional", "required"))
            result.append(f'<xs:attribute name="{prefix}{number}" type="s:S{simple}" use="{use}"/>')
        if self._chance(0.15):
            result.append('<xs:anyAttribute namespace="##other" processContents="lax"/>')
        return "".join(result)

    def validator(self) -> etree.XMLSchema | None:
        """The validator of libxml2; None where the text is no schema to it."""
        try:
            return etree.XMLSchema(etree.fromstring(self.text))
        except etree.XMLSchemaParseError:
            return None


def changed(document: etree._Element, random: Random) -> etree._Element:
    """The document with one to three changes, which may or may not leave it valid."""
    result = deepcopy(document)
    for _ in range(random.randint(1, 3)):
        element = random.choice(list(result.iter("*")))
        _change(element, random)
    return result


def _change(element: etree._Element, random: Random) -> None:
    kind = random.randrange(8)
    if kind == 0:
        prefix = next(key for key, uri in element.nsmap.items() if uri == NAMESPACE)
        element.set(f"{{{INSTANCE}}}type", f"{prefix}:{random.choice((*TYPES, 'S0', 'S3'))}")
    elif kind == 1:
        element.set(f"{{{INSTANCE}}}nil", random.choice(("true", "false")))
    elif kind == 2:
        element.set(f"{{{INSTANCE}}}schemaLocation", "urn:x x.xsd")
    elif kind == 3:
        element.text = random.choice(("", " ", "x", " x ", "7", "03", "+5", "y  z", "true", "AB-1"))
    elif kind == 4:
        name = random.choice((*GLOBALS, *LOCALS))
        element.tag = random.choice((f"{{{NAMESPACE}}}{name}", name))
    elif kind == 5:
        name = random.choice((f"{{{NAMESPACE}}}g0", f"{{{NAMESPACE}}}b", "{urn:o}any", "b", "c"))
        element.insert(random.randint(0, len(element)), element.makeelement(name))
    elif kind == 6:
        element.set(
            random.choice(("k0", "e1", "{urn:o}k")), random.choice(("4", "x", " p", "true"))
        )
    elif (parent := element.getparent()) is not None:
        parent.remove(element)
