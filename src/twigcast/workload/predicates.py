"""Value predicates on generated subscriptions: ``[price > 17]``, ``[@currency = "maple"]``.

A predicate goes to one node of a pattern.  It tests the text of an element or one of the attributes
that its declaration allows, by a comparison that the node's domain offers
(:mod:`twigcast.workload.values`) and with a value that documents really hold.  Below a ``*`` it is
the element of the witness that counts, so the pattern stays satisfiable.
"""

from __future__ import annotations

from dataclasses import dataclass

from twigcast.errors import WorkloadError
from twigcast.keywords import exact_keywords
from twigcast.language import XML_NAMESPACE, Axis, Condition, Kind, NodeTest, branch, node_test
from twigcast.schema import Any, Attribute, Mixed, Text
from twigcast.workload.chance import Draw, below
from twigcast.workload.drafts import Draft
from twigcast.workload.elements import UsableElements
from twigcast.workload.values import EQUAL, NUMERIC, STRINGS, Domain, Domains
from twigcast.workload.vocabulary import DEFAULT_VOCABULARY, Vocabulary

_OPERATORS = (*EQUAL, *NUMERIC, *STRINGS)


@exact_keywords
@dataclass(frozen=True, slots=True)
class ValueParameters:
    """Which subscriptions compare values, and how.

    A share of ``fraction`` has one predicate, which is on an attribute with a chance of
    ``attributes`` and on the text of an element otherwise; where the schema offers only one of the
    two, that one is taken.  Its operator is one of ``operators`` that suits the value, each as
    likely.  ``vocabulary`` must be that of the documents for the comparisons to be about their
    values.
    """

    fraction: float = 0.5
    attributes: float = 0.3
    operators: tuple[str, ...] = ("=", "<", "<=", ">", ">=")
    vocabulary: Vocabulary = DEFAULT_VOCABULARY

    def __post_init__(self) -> None:
        for name in ("fraction", "attributes"):
            value = getattr(self, name)
            if not 0 <= value <= 1:
                raise WorkloadError(f"{name} is a share, from 0 to 1, not {value}")
        unknown = [operator for operator in self.operators if operator not in _OPERATORS]
        if unknown or not self.operators:
            raise WorkloadError(
                f"operators are at least one of {' '.join(_OPERATORS)}, "
                f"not {' '.join(unknown) or 'none'}"
            )


class PredicatePlan:
    """The predicates that each element of a schema can carry."""

    def __init__(self, elements: UsableElements, parameters: ValueParameters) -> None:
        self.fraction = parameters.fraction
        self.attributes = parameters.attributes
        self._texts: dict[str, tuple[Domain, tuple[str, ...]]] = {}
        self._attributes: dict[str, list[tuple[NodeTest, Domain, tuple[str, ...]]]] = {}
        domains = Domains(parameters.vocabulary)
        for name, declaration in elements.declarations.items():
            content = declaration.content
            if isinstance(content, (Text, Mixed, Any)):
                is_text = isinstance(content, Text)
                domain = domains.text(declaration) if is_text else domains.prose(name)
                if operators := _suitable(domain, parameters):
                    self._texts[name] = (domain, operators)
            for attribute in declaration.attributes:
                test = attribute_test(attribute)
                value = domains.attribute(name, attribute)
                if test is None or value is None:
                    continue
                if operators := _suitable(value, parameters):
                    self._attributes.setdefault(name, []).append((test, value, operators))

    def attach(self, draw: Draw, draft: Draft, on_attribute: bool) -> bool:
        """Give one node of the pattern a predicate; False where none of them can carry one."""
        sites = self._attributes if on_attribute else self._texts
        nodes = [node for node in draft.nodes() if node.site.element in sites]
        if not nodes:
            return False
        node = nodes[below(draw, len(nodes))]
        if on_attribute:
            choices = self._attributes[node.site.element]
            test, domain, operators = choices[below(draw, len(choices))]
            comparison = _compare(draw, domain, operators)
            node.predicate = branch(Axis.CHILD, test, None, (comparison,))
        else:
            node.predicate = _compare(draw, *self._texts[node.site.element])
        return True


def attribute_test(attribute: Attribute) -> NodeTest | None:
    """How a subscription names the attribute; None where a DTD does not say its namespace."""
    if attribute.label is not None:
        return None if attribute.kind in ("any", "instance") else attribute.label
    prefix, _, local = attribute.name.rpartition(":")
    if attribute.is_namespace_declaration or prefix not in ("", "xml"):
        return None
    return node_test(Kind.ATTRIBUTE, XML_NAMESPACE if prefix else "", local)


def _suitable(domain: Domain, parameters: ValueParameters) -> tuple[str, ...]:
    return tuple(operator for operator in parameters.operators if operator in domain.operators)


def _compare(draw: Draw, domain: Domain, operators: tuple[str, ...]) -> Condition:
    return domain.test(draw, operators[below(draw, len(operators))])
