"""Reading XSDs: xmlschema loads, includes and checks them; here its result becomes declarations.

A path or a text leads to local files only.  Who passes a URL allows its host, and what the schema
there imports, to be asked.  Documents with a document type declaration are not read at all, so that
no entity is ever expanded.

xmlschema is imported here and only when an XSD is read.
"""

from __future__ import annotations

import os
import re
import warnings
from pathlib import Path
from typing import Any, Final
from urllib.error import HTTPError
from urllib.parse import unquote, urlsplit

from lxml import etree

from twigcast.errors import SchemaError
from twigcast.schema.declarations import ElementDeclaration
from twigcast.schema.xsd_elements import XsdElements
from twigcast.schema.xsd_types import XSD_NAMESPACE

_URL: Final = re.compile(r"(https?|ftp|file)://")
_ROOT_NAME: Final = re.compile(r"(?:Q?\{([^{}]*)\})?([^{}:\s]+)")
_SHOWN_CANDIDATES: Final = 20


def read_xsd(
    source: str | os.PathLike[str], root: str | None
) -> tuple[dict[str, ElementDeclaration], tuple[str, ...]]:
    """The declarations below a root, and the keys of the root.  Raises SchemaError."""
    where = _shown(source)
    try:
        schema = _build(source)
        return XsdElements(schema).read(_choose_root(schema, where, root))
    except RecursionError:
        raise SchemaError(f"{where}: the schema is nested too deep") from None


def is_url(source: str | os.PathLike[str]) -> bool:
    """Whether a source is to be asked of a host."""
    return isinstance(source, str) and _URL.match(source) is not None


def _shown(source: str | os.PathLike[str]) -> str:
    text = os.fspath(source)
    return "XSD" if "<" in text else text


def _build(source: str | os.PathLike[str]) -> Any:
    """The schema as xmlschema has it, complete and without errors."""
    from xmlschema import XMLSchema10, XMLSchemaException

    where = _shown(source)
    local = not is_url(source)
    try:
        if local and where != "XSD":
            _require_xsd(Path(source).read_bytes(), where)
        elif where == "XSD":
            _require_xsd(os.fspath(source).encode(), where)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # they are among the schema's own, looked at below
            schema = XMLSchema10(
                os.fspath(source),
                validation="lax",
                allow="local" if local else "all",
                defuse="always",
            )
    except (OSError, UnicodeEncodeError) as error:
        reason = getattr(error, "strerror", None) or error
        _close_answers(error)
        raise SchemaError(f"{where}: {reason}") from None
    except XMLSchemaException as error:
        reason = _reason(error)
        _close_answers(error)
        raise SchemaError(f"{where}: {reason}") from None
    _require_all_parts(schema, where)
    _require_no_errors(schema, where)
    return schema


def _close_answers(error: BaseException | None) -> None:
    """Close the connections of servers that refused: their answers are errors with a body."""
    while error is not None:
        if isinstance(error, HTTPError):
            error.close()
        error = error.__cause__ or error.__context__


def _require_xsd(content: bytes, where: str) -> None:
    """Refuse what is no XML or another kind of XML, with the line where it begins to be so."""
    parser = etree.XMLParser(resolve_entities=False, no_network=True, load_dtd=False)
    try:
        top = etree.fromstring(content, parser)
    except etree.XMLSyntaxError as error:
        raise SchemaError(f"{where}: not an XSD: {error.msg}") from None
    if top.getroottree().docinfo.internalDTD is not None:
        raise SchemaError(
            f"{where}: an XSD with a document type declaration is not read, for its entities; "
            "take the declaration out"
        )
    if top.tag != f"{{{XSD_NAMESPACE}}}schema":
        raise SchemaError(
            f"{where}: not an XSD: its root is {etree.QName(top).localname}, not xs:schema"
        )


def _require_all_parts(schema: Any, where: str) -> None:
    """Refuse a schema of which a part is missing: who has it may have further elements."""
    for each in schema.maps.schemas:
        for warning in each.warnings:
            raise SchemaError(
                f"{_name(each, where)}: {' '.join(warning.split())}; put that schema there, change "
                "its schemaLocation, or pass the XSD by its URL to have others read from the "
                "network"
            )


def _require_no_errors(schema: Any, where: str) -> None:
    from xmlschema.validators import XMLSchemaModelDepthError, XMLSchemaModelError

    for error in schema.all_errors:
        # That a model is ambiguous matters to those who validate by it, not here.
        ambiguous = isinstance(error, XMLSchemaModelError)
        if not ambiguous or isinstance(error, XMLSchemaModelDepthError):
            owner = getattr(error.validator, "schema", schema)
            raise SchemaError(f"{_name(owner, where)}: {_reason(error)}")


def _name(schema: Any, where: str) -> str:
    """The file of a schema, or its URL; that of the first one as the caller spelled it."""
    url = schema.url
    if url is None or schema.maps.validator is schema:
        return where
    parts = urlsplit(url)
    return unquote(parts.path) if parts.scheme == "file" else str(url)


def _reason(error: BaseException) -> str:
    """What xmlschema says on one line, and the element of the schema that it means."""
    message = str(getattr(error, "message", None) or error).strip()
    path = getattr(error, "path", None)
    first = " ".join(message.split("\n\n")[0].split())
    return f"{path}: {first}" if path else first


def _choose_root(schema: Any, where: str, root: str | None) -> Any:
    elements = schema.maps.elements
    if root is None:
        return _only_root(schema, where)
    name = _ROOT_NAME.fullmatch(root)
    if name is None:
        raise SchemaError(f"{where}: {root!r} is no name of an element; write name or Q{{uri}}name")
    namespace, local = name.groups()
    candidates = [
        element
        for spelled, element in elements.items()
        if element.local_name == local
        and element.target_namespace
        == (element.target_namespace if namespace is None else namespace)
        and _is_own(element)
    ]
    if namespace is None and len(candidates) > 1:
        own = [each for each in candidates if each.target_namespace == schema.target_namespace]
        candidates = own or candidates
    if len(candidates) == 1:
        if candidates[0].abstract:
            raise SchemaError(
                f"{where}: the element {root!r} is abstract; choose one of its substitution group"
            )
        return candidates[0]
    if candidates:
        spelled = ", ".join(sorted(_spelling(each) for each in candidates))
        raise SchemaError(
            f"{where}: {root!r} is in several namespaces; pass root= one of: {spelled}"
        )
    if any(
        each.local_name == local and each.ref is None and each.parent is not None
        for each in schema.maps.iter_components(_element_class())
    ):
        raise SchemaError(
            f"{where}: {root!r} is declared within a type only, and a root must be declared at the "
            f"top of the schema; {_candidates(_own_elements(schema))}"
        )
    raise SchemaError(
        f"{where}: the XSD declares no element {root!r} to be the root; "
        f"{_candidates(_own_elements(schema))}"
    )


def _only_root(schema: Any, where: str) -> Any:
    """The root that is meant, where the schema leaves no doubt."""
    own = _own_elements(schema)
    if not own:
        raise SchemaError(
            f"{where}: no element is declared at the top of the schema that could be the root; "
            "pass the XSD that declares one"
        )
    used: set[int] = set()
    for each in schema.maps.iter_components(_element_class()):
        if each.ref is not None:
            used.update(map(id, (each.ref, *each.ref.iter_substitutes())))
    candidates = [each for each in own if id(each) not in used] or own
    if len(candidates) > 1:
        raise SchemaError(f"{where}: the root element is not plain; {_candidates(candidates)}")
    return candidates[0]


def _element_class() -> Any:
    from xmlschema.validators import XsdElement

    return XsdElement


def _is_own(element: Any) -> bool:
    """Whether an element is not one of XSD itself, which every schema has."""
    return bool(element.target_namespace != XSD_NAMESPACE)


def _own_elements(schema: Any) -> list[Any]:
    """The elements that the first document declares, or all where it only includes others."""
    declared = [each for each in schema.maps.elements.values() if _is_own(each)]
    able = [each for each in declared if not each.abstract]
    first = [each for each in able if each.schema is schema]
    if first:
        return first
    return [each for each in able if each.target_namespace == schema.target_namespace] or able


def _candidates(elements: list[Any]) -> str:
    shown = ", ".join(map(_spelling, elements[:_SHOWN_CANDIDATES]))
    more = len(elements) - _SHOWN_CANDIDATES
    return f"pass root= one of: {shown}" + (f" and {more} more" if more > 0 else "")


def _spelling(element: Any) -> str:
    namespace = element.target_namespace
    return f"Q{{{namespace}}}{element.local_name}" if namespace else str(element.local_name)
