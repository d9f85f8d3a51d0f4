"""Writing the attributes of generated elements: identifiers, references and plain values."""

from __future__ import annotations

from twigcast.errors import WorkloadError
from twigcast.schema import Attribute, ElementDeclaration
from twigcast.workload.chance import Draw, below, between
from twigcast.workload.escaping import escape
from twigcast.workload.names import Names
from twigcast.workload.values import Domain, Domains

_MOST_REFERENCES = 3
_WRITTEN_IF_REQUIRED = ("any", "entities", "entity", "instance")


class AttributeModel:
    """How one attribute of one element is written.

    ``kind`` is ``value`` for those whose text is known at once, ``id``, or ``idref`` and ``idrefs``
    for those that must wait until all identifiers of the document are known.
    """

    def __init__(self, element: str, attribute: Attribute, domains: Domains, names: Names) -> None:
        self.name = names.attribute(attribute)
        self.required = attribute.default == "required"
        self._domain: Domain | None = None
        self._fixed = ""
        if attribute.value is not None and (
            attribute.default == "fixed" or attribute.is_namespace_declaration
        ):
            # Without its namespace declaration a document would not be well-formed.
            self.required = self.required or attribute.is_namespace_declaration
            self.kind = "value"
            self._fixed = escape(attribute.value)
        elif attribute.kind == "instance" and attribute.value is not None:
            self.kind = "value"
            self._fixed = names.value(attribute.value)
        elif attribute.kind in ("id", "idref", "idrefs"):
            self.kind = attribute.kind
        else:
            self.kind = "value"
            self._domain = domains.attribute(element, attribute)
            if self._domain is None:
                raise WorkloadError(
                    f"attribute {self.name} of {element} must name an unparsed entity, "
                    "and documents are generated without entities"
                )
        length = self._domain.mean_length if self._domain is not None else len(self._fixed) or 4.0
        self.size = len(self.name) + 4 + length

    def write(self, draw: Draw) -> str:
        """The attribute with the blank before it, where its kind is ``value``."""
        value = self._fixed if self._domain is None else escape(self._domain.write(draw))
        return f' {self.name}="{value}"'


def attribute_models(
    declaration: ElementDeclaration, domains: Domains, names: Names
) -> tuple[AttributeModel, ...]:
    """The attributes of an element that can be written, in order of their names."""
    return tuple(
        AttributeModel(declaration.name, attribute, domains, names)
        for attribute in declaration.attributes
        if attribute.kind not in _WRITTEN_IF_REQUIRED or attribute.default == "required"
    )


class Identifiers:
    """The identifiers of one document and the references that wait for them.

    ``chunks`` is the document as it grows.  A reference reserves a chunk, and so does an optional
    identifier that was not written: it is filled in after all where a required reference would
    have nothing to point to.
    """

    def __init__(self, chunks: list[str]) -> None:
        self._chunks = chunks
        self._count = 0
        self._spare: tuple[int, str] | None = None
        self._waiting: list[tuple[int, AttributeModel]] = []

    def add(self, attribute: AttributeModel) -> str:
        """A new identifier as an attribute."""
        self._count += 1
        return f' {attribute.name}="i{self._count}"'

    def spare(self, attribute: AttributeModel) -> None:
        """Remember that an identifier could stand here."""
        if self._spare is None:
            self._spare = (len(self._chunks), attribute.name)
            self._chunks.append("")

    def refer(self, attribute: AttributeModel) -> None:
        """Reserve the slot of a reference."""
        self._waiting.append((len(self._chunks), attribute))
        self._chunks.append("")

    def resolve(self, draw: Draw) -> bool:
        """Fill in the references; False where a required one has nothing to point to."""
        required = any(attribute.required for _, attribute in self._waiting)
        if required and not self._count:
            if self._spare is None:
                return False
            slot, name = self._spare
            self._count = 1
            self._chunks[slot] = f' {name}="i1"'
        for slot, attribute in self._waiting if self._count else ():
            many = between(draw, 1, _MOST_REFERENCES) if attribute.kind == "idrefs" else 1
            targets = [f"i{1 + below(draw, self._count)}" for _ in range(many)]
            self._chunks[slot] = f' {attribute.name}="{" ".join(targets)}"'
        return True
