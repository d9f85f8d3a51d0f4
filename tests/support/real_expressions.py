"""The expressions of the world beside the checkout, and documents to ask them of.

corpus                 a file of ``../shared/data/expressions``
Question               one of its lines
sample_documents       some documents of each folder, and small ones with every kind of node
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from random import Random

import pytest
from lxml import etree
from match_oracles import Question, SaxonTree
from oracle import parse_tree
from real_documents import read_folder
from value_oracles import saxon_processor

from twigcast.errors import SubscriptionError
from twigcast.language import Version
from twigcast.language.functions import FUNCTIONS_OF_XPATH

FOLDERS = ("cap", "iso20022", "newsml", "ubl")
SMALL = (
    "<a><b>x</b></a>",
    (
        '<doc xmlns:ns2="http://www.ns.org/" ns2:attr="v"><elem ns2:a="1">5</elem><!--c--><?pi d?>'
        "</doc>"
    ),
    (
        '<EXAMPLE prop1="gnome is great" prop2="&amp; linux too"><head><title>Welcome to Gnome'
        "</title></head><chapter><title>The Linux adventure</title><p>bla</p><image href='l.gif'/>"
        "<p>...</p></chapter><chapter><title>Chapter 2</title><p>this is chapter 2 ...</p>"
        "</chapter><chapter/><chapter/></EXAMPLE>"
    ),
    (
        "<!DOCTYPE r [<!ATTLIST e i ID #IMPLIED>]><r xml:lang='en'><e i='chap1'>1</e>"
        "<e i='x' xml:id='abc'>2</e><p xml:lang='de-AT'>3</p></r>"
    ),
)

_LITERAL = re.compile(r"'[^']*'|\"[^\"]*\"")
_CALL = re.compile(r"(?<![\w.$:-])(?:fn:)?([\w.-]+(?::[\w.-]+)?)\s*\(")
_ONLY_LATER = {function.name for function in FUNCTIONS_OF_XPATH if not function.is_xpath_1}
_OF_SYNTAX = ("Unexpected", "expected a name", "Invalid character", "Unrecognized", "ARRAY")
_NOT_XPATH_ALONE = (
    "is a function of stylesheets",  # current(), key(), …
    "() is not known",  # a function of an extension
    "is not bound",  # a variable or a prefix of the program around the expression
)


def read_corpus(shared_data: Path, name: str, version: Version = "1.0") -> list[Question]:
    """The expressions of a corpus, each once."""
    path = shared_data / "expressions" / f"{name}.tsv"
    if not path.is_file():
        pytest.skip(f"expressions/{name}.tsv is not among the shared data")
    lines = dict.fromkeys(path.read_text(encoding="utf-8").splitlines())
    questions = []
    for line in lines:
        text, _, namespaces = line.partition("\t")
        questions.append(Question(text, json.loads(namespaces), version=version))
    return questions


def is_xpath_1(question: Question) -> bool:
    """Whether libxml2 reads it, and knows every function that is not an extension."""
    called = _CALL.findall(_LITERAL.sub("''", question.text))
    if any(name in _ONLY_LATER for name in called):
        return False
    try:
        etree.XPath(question.text, namespaces=dict(question.namespaces) or None)
    except etree.XPathError:
        return False
    return True


def is_xpath_2(question: Question, document: SaxonTree) -> bool:
    """Whether Saxon reads it; what it says of the document does not matter."""
    processor = saxon_processor().new_xpath_processor()
    processor.set_backwards_compatible(question.version == "1.0")
    for prefix, uri in question.namespaces.items():
        if prefix not in ("xs", "fn"):
            processor.declare_namespace(prefix, uri)
    document.show_to(processor)
    try:
        processor.effective_boolean_value(question.text)
    except Exception as error:  # of a class that saxonche does not export
        return not any(complaint in str(error) for complaint in _OF_SYNTAX)
    return True


def refusal(question: Question) -> str | None:
    """Why the expression is not taken; None if it is."""
    try:
        question.pattern  # noqa: B018  # it is made here
    except SubscriptionError as error:
        return error.reason
    return None


def needs_a_program_around(reason: str) -> bool:
    """Whether an expression is refused since it is more than XPath."""
    return any(each in reason for each in _NOT_XPATH_ALONE)


def _is_read(document: bytes) -> bool:
    """Whether the document needs nothing from elsewhere."""
    try:
        parse_tree(document)
    except etree.XMLSyntaxError:
        return False
    return True


def documents_of(shared_data: Path, most: int | None = None) -> Iterator[bytes]:
    """So many documents of each folder, fixed and varied, or all of them; and the small ones."""
    for folder in FOLDERS:
        documents = list(filter(_is_read, read_folder(shared_data, folder).values()))
        Random(1).shuffle(documents)
        yield from documents[:most]
    yield from (text.encode() for text in SMALL)


def libxml2_answers(questions: list[Question], document: bytes) -> dict[str, bool]:
    """The answers of libxml2 by the number of the question, as far as it can evaluate them."""
    tree = parse_tree(document)
    answers: dict[str, bool] = {}
    for number, question in enumerate(questions):
        with suppress(etree.XPathError):
            answers[str(number)] = bool(question.by_libxml2(tree))
    return answers


def saxon_answers(questions: list[Question], document: bytes) -> dict[str, bool]:
    """The answers of Saxon by the number of the question; no value means no match."""
    encoding = parse_tree(document).docinfo.encoding or "utf-8"
    tree = SaxonTree(document.decode(encoding).removeprefix("\ufeff"))
    return {
        str(number): tree.matches(question) is True for number, question in enumerate(questions)
    }
