"""Reading a document into a tree, through the expat that CPython brings along.

This is the plain reader: the reference evaluation and the decomposition stand on it, and the
compiled kernel is compared with it.  Events go through closures rather than methods, the text
handler is a list's ``append``, and expanded names are made once per document and name; the rest is
as obvious as it looks.

Handlers and parser refer to each other; the reader lets go of the handlers when it is done, so
that no parser waits for the cyclic collector.  After an error in a handler expat still finishes the
piece it was given (a megabyte at most), but calls nobody.
"""

from __future__ import annotations

from typing import Final, NoReturn
from xml.parsers.expat import ExpatError, ParserCreate, XMLParserType

from twigcast.documents.encoding import Source, to_parsable
from twigcast.documents.entities import check_entities, has_document_type
from twigcast.documents.limits import DEFAULT_LIMITS, DocumentLimits, LimitName, limit_exceeded
from twigcast.documents.parser_errors import event_position, malformed, missing_entity
from twigcast.documents.tree import Comment, Document, Element, ExpandedName, Instruction
from twigcast.language import XML_NAMESPACE

SEPARATOR: Final = "\x1f"
"""Stands between namespace name, local part and prefix in expat's names.

No XML 1.0 document can contain this control character, not even as a character reference, so it
cannot be smuggled into a namespace name.
"""

_BUFFER_SIZE: Final = 64 * 1024
_XML_ID: Final = (XML_NAMESPACE, "id")


def read_document(data: Source, limits: DocumentLimits = DEFAULT_LIMITS) -> Document:
    """The tree of a document in any encoding; DocumentError where it is not one within limits."""
    parsable, encoding = to_parsable(data, limits)
    if has_document_type(parsable):
        check_entities(parsable, encoding, limits)
    parser = ParserCreate(encoding, SEPARATOR)
    parser.buffer_text = True
    parser.buffer_size = _BUFFER_SIZE
    parser.namespace_prefixes = True
    holder = Element(("", ""))  # stands above the root until the end
    identified: dict[str, Element] = {}
    _set_handlers(parser, holder, identified, limits, parsable)
    try:
        parser.Parse(parsable, True)
    except ExpatError as error:
        raise malformed(error.code, error.lineno, error.offset, parsable, encoding) from None
    finally:
        _clear_handlers(parser)
    (root,) = (child for child in holder.children if isinstance(child, Element))
    root.parent = None
    return Document(root, holder.children, identified)


def _set_handlers(
    parser: XMLParserType,
    holder: Element,
    identified: dict[str, Element],
    limits: DocumentLimits,
    parsable: bytes,
) -> None:
    current = holder
    depth = 0
    most_depth = limits.depth
    most_attributes = limits.attributes
    pieces: list[str] = []  # of the text node being read
    names: dict[str, tuple[ExpandedName, str]] = {}
    declared: dict[str, str] = {}  # namespaces, for the next start tag
    identifiers: dict[str, str] = {}  # for each element as written, its attribute of type ID
    is_in_document_type = False

    def refuse(limit: LimitName) -> NoReturn:
        at = event_position(parser.CurrentLineNumber, parser.CurrentColumnNumber, parsable)
        raise limit_exceeded(limits, limit, *at)

    def expand(raw: str) -> tuple[ExpandedName, str]:
        namespace, local, prefix = _split(raw)
        if len(namespace) + len(local) > limits.name_length:
            refuse("name_length")
        names[raw] = (namespace, local), prefix
        return names[raw]

    def end_text() -> None:
        if pieces:
            current.children.append("".join(pieces))
            pieces.clear()

    def on_start(raw: str, attributes: dict[str, str]) -> None:
        nonlocal current, depth
        if pieces:
            end_text()
        depth += 1
        if depth > most_depth:
            refuse("depth")
        if len(attributes) > most_attributes:
            refuse("attributes")
        name, prefix = names.get(raw) or expand(raw)
        element = Element(name, {}, current, prefix=prefix)
        for raw_attribute, value in attributes.items():
            attribute, prefix = names.get(raw_attribute) or expand(raw_attribute)
            element.attributes[attribute] = value
            if prefix:
                element.prefixes[attribute] = prefix
                if attribute == _XML_ID:
                    identified.setdefault(value, element)
        if declared:
            element.namespaces = declared.copy()
            declared.clear()
        if identifiers:
            identify(element)
        current.children.append(element)
        current = element

    def identify(element: Element) -> None:
        wanted = identifiers.get(_as_written(element.prefix, element.name))
        for attribute, value in element.attributes.items():
            if _as_written(element.prefixes.get(attribute, ""), attribute) == wanted:
                identified.setdefault(value, element)

    def on_namespace(prefix: str | None, namespace: str | None) -> None:
        declared[prefix or ""] = namespace or ""

    def on_attribute_declaration(
        element: str, attribute: str, kind: str, default: str | None, is_required: bool
    ) -> None:
        if kind == "ID":
            identifiers.setdefault(element, attribute)

    def on_document_type(*description: object) -> None:
        nonlocal is_in_document_type
        is_in_document_type = True

    def on_document_type_end() -> None:
        nonlocal is_in_document_type
        is_in_document_type = False

    def on_end(raw: str) -> None:
        nonlocal current, depth
        if pieces:
            end_text()
        depth -= 1
        current = current.parent or holder

    def on_comment(text: str) -> None:
        end_text()
        if not is_in_document_type:
            current.children.append(Comment(text))

    def on_instruction(target: str, text: str) -> None:
        end_text()
        if not is_in_document_type:
            current.children.append(Instruction(target, text))

    def on_missing_entity(*description: object) -> NoReturn:
        raise missing_entity(parser.CurrentLineNumber, parser.CurrentColumnNumber, parsable)

    parser.StartElementHandler = on_start
    parser.EndElementHandler = on_end
    parser.CharacterDataHandler = pieces.append
    parser.CommentHandler = on_comment
    parser.ProcessingInstructionHandler = on_instruction
    parser.SkippedEntityHandler = on_missing_entity
    parser.ExternalEntityRefHandler = on_missing_entity
    parser.StartNamespaceDeclHandler = on_namespace
    parser.AttlistDeclHandler = on_attribute_declaration
    parser.StartDoctypeDeclHandler = on_document_type
    parser.EndDoctypeDeclHandler = on_document_type_end


def _clear_handlers(parser: XMLParserType) -> None:
    parser.StartElementHandler = None
    parser.EndElementHandler = None
    parser.CharacterDataHandler = None
    parser.CommentHandler = None
    parser.ProcessingInstructionHandler = None
    parser.SkippedEntityHandler = None
    parser.ExternalEntityRefHandler = None
    parser.StartNamespaceDeclHandler = None
    parser.AttlistDeclHandler = None
    parser.StartDoctypeDeclHandler = None
    parser.EndDoctypeDeclHandler = None


def _split(raw: str) -> tuple[str, str, str]:
    """Namespace name, local part and prefix of a name of expat; empty what it lacks."""
    namespace, separator, rest = raw.partition(SEPARATOR)
    if not separator:
        return "", raw, ""
    local, _, prefix = rest.partition(SEPARATOR)
    return namespace, local, prefix


def _as_written(prefix: str, name: ExpandedName) -> str:
    return f"{prefix}:{name[1]}" if prefix else name[1]
