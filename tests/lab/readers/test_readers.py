"""The checked reader takes no document that expat refuses, and sees no other events."""

from __future__ import annotations

import tarfile
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from lab.readers._readers import Outcome

from lab.readers import SEEDS, TOKENS, ReaderPair, fuzz

FINDINGS: dict[Outcome, int] = {"wrongly taken": 0, "other events": 0}

# What users send: read without expat.
USUAL = (
    b"<a/>",
    b"<a>b</a>\r\n",
    b'<?xml version="1.0"?><a b="c"/>',
    b'<?xml version = "1.0" encoding="utf-8" standalone = \'no\' ?>\n<a/>',
    b"\xef\xbb\xbf<a/>",
    b"\xef\xbb\xbf<?xml version='1.0' encoding='UTF-8'?><a/>",
    b'<?xml version="1.0" encoding="ISO-8859-1"?><a b="\xe9">\xfc</a>',
    b'<?xml version="1.0" encoding="us-ascii"?><a/>',
    b"<!DOCTYPE a><a/>",
    b'<!DOCTYPE a SYSTEM "b.dtd"><!-- c --><a><!-- d --><?e f?></a>',
    b"<!DOCTYPE a PUBLIC \"-//b//c d//EN\" 'e.dtd' ><a/>",
    "<日本 é='ß'>語</日本>".encode(),
    b"<a>&lt;&gt;&amp;&quot;&apos;&#65;&#x1F600;&#13;</a>",
    b'<a b="&lt;&#10;\r\n\t&quot;"/>',
    b"<a><![CDATA[]]><![CDATA[<&>]]]]></a>",
    b"<a>one\r\ntwo\rthree<!--four\r\nfive--><?six  seven\reight?></a>",
    b"<p:a xmlns:p='u' xmlns:q='u' p:b='1' q:c='2' b='3'><a xmlns='v'><a xmlns=''/></a></p:a>",
    b"<a xml:lang='de' xml:space='preserve'/>",
    b"<a" + b"".join(b" b%d='c'" % number for number in range(100)) + b"/>",
    b"<a>" * 512 + b"</a>" * 512,
    b"<a>" + b"0123456789abcdef" * 20 + b"</a>",
    b"<a>]]]]<![CDATA[]]]]]]] ]>]]]>]]] ] ></a>",
    b"<a><?b ??c?? ? ???></a>",
    ("<a>" + "".join(f"<é{number}/>" for number in range(1_000)) + "</a>").encode(),
)

# What the checked reader is not sure of, and expat takes.
LEFT = (
    b"<!DOCTYPE a [<!ENTITY b 'c'>]><a>&b;</a>",
    b"<a xmlns:xml='http://www.w3.org/XML/1998/namespace'/>",
    b"<a" + b"".join(b" p%d:b='' xmlns:p%d='u%d'" % (n, n, n) for n in range(40)) + b"/>",
    b"<a>" + b"".join(b"<a%d/>" % number for number in range(5_000)) + b"</a>",
    b"<a>" + b"".join(b"<a xmlns='u%d'/>" % number for number in range(300)) + b"</a>",
    "<a>é</a>".encode("utf-16"),
)

# What a careless reader takes.
REFUSED = (
    b"",
    b"   ",
    b">",
    b"<a>",
    b"</a>",
    b"<a></b>",
    b"<a></a",
    b"<a/><b/>",
    b"<a/>b",
    b"<a>]]></a>",
    b"<a>]]]]]]></a>",
    b"<a><![CDATA[]]]></a>]>",
    b"<a><?b ???</a>",
    b"<a b='c' b='d'/>",
    b"<a b='c'd='e'/>",
    b"<a b=c/>",
    b"<a b/>",
    b"<a b='<'/>",
    b"<a b='&c;'/>",
    b"<a>&amp</a>",
    b"<a>&#0;</a>",
    b"<a>&#xD800;</a>",
    b"<a>&#xFFFE;</a>",
    b"<a>&#x110000;</a>",
    b"<a>&#99999999999999999999;</a>",
    b"<a>\x01</a>",
    b"<a>\xff</a>",
    b"<a>\xed\xa0\x80</a>",
    b"<a>\xef\xbf\xbf</a>",
    b"<a>\xc0\x80</a>",
    b"<a>\xf4\x90\x80\x80</a>",
    b"<1a/>",
    b"<a:/>",
    b"<:a/>",
    b"<a:b:c xmlns:a='d'/>",
    b"<p:a/>",
    b"<a p:b='c'/>",
    b"<xmlns:a xmlns:xmlns='b'/>",
    b"<a xmlns:p=''/>",
    b"<a xmlns:p='u' xmlns:q='u' p:b='1' q:b='2'/>",
    b"<a xmlns='http://www.w3.org/XML/1998/namespace'/>",
    b"<a xmlns:b='http://www.w3.org/2000/xmlns/'/>",
    b"<a><!-- b -- c --></a>",
    b"<a><!-- b ---></a>",
    b"<a><?xml b?></a>",
    b"<a><?b",
    b"<a><?b>c?></a>",
    b"<a><?b:c d?></a>",
    b" <?xml version='1.0'?><a/>",
    b"<?xml version='1.0' standalone='maybe'?><a/>",
    b"<?xml encoding='utf-8'?><a/>",
    b"<?xml version='1.0'encoding='utf-8'?><a/>",
    b"<?xml version='1.0' encoding='utf-16'?><a/>",
    b"<!DOCTYPE a><!DOCTYPE a><a/>",
    b"<a><!DOCTYPE a></a>",
    b'<!DOCTYPE a PUBLIC "b"><a/>',
    b'<!DOCTYPE a PUBLIC "{" "c"><a/>',
    b'<!DOCTYPE a SYSTEM"b"><a/>',
    b"\xef\xbb\xbf\xef\xbb\xbf<a/>",
    b"\xef\xbb\xbf<?xml version='1.0' encoding='utf-16'?><a/>",
    b"<\xc2\xaa/>",
    b"<a \xc3\x97=''/>",
)


@pytest.mark.parametrize("document", USUAL)
def test_reads_what_users_send_without_expat(document: bytes) -> None:
    assert ReaderPair().compare(document) == "alike"


@pytest.mark.parametrize("document", LEFT)
def test_leaves_to_expat_what_it_is_not_sure_of(document: bytes) -> None:
    assert ReaderPair().compare(document) == "left to expat"


@pytest.mark.parametrize("document", REFUSED)
def test_takes_nothing_that_expat_refuses(document: bytes) -> None:
    assert ReaderPair().compare(document) == "refused"


def test_a_document_cut_off_anywhere_is_refused() -> None:
    pair = ReaderPair()
    for seed in SEEDS:
        whole = seed.rstrip()
        outcomes = {pair.compare(whole[:length]) for length in range(len(whole))}
        # Behind the root there may be a comment, which may be left out.
        assert outcomes <= {"refused", "alike"}, seed


def test_one_pair_reads_many_documents() -> None:
    """What was learned from one document is not taken for something else in the next."""
    pair = ReaderPair()
    for number in range(300):
        prefix = b"p%d" % (number % 7)
        tags = b"".join(b"<%s:e%d a%d=''/>" % (prefix, number + at, at) for at in range(40))
        document = b"<a xmlns:%s='u%d'>%s</a>" % (prefix, number % 11, tags)
        assert pair.compare(document) == "alike", number


def test_a_name_is_shown_to_expat_whatever_was_shown_before() -> None:
    pair = ReaderPair()
    for number in range(600):
        assert pair.compare(f"<é{number}><日本{number}/></é{number}>".encode()) == "alike"
        for wrong in (f"<a><é×{number}/></a>", f"<a><é{number}></a>", f"<1:é{number}/>"):
            assert pair.compare(wrong.encode()) == "refused"


def conformance_suite(shared_data: Path) -> list[bytes]:
    archive = shared_data / "xmlconf.tar.xz"
    if not archive.is_file():
        pytest.skip("the W3C suite is not among the shared data")
    with tarfile.open(archive) as suite:
        files = [member for member in suite if member.name.endswith((".xml", ".ent"))]
        return [file.read() for file in map(suite.extractfile, files) if file is not None]


def test_the_w3c_suite(shared_data: Path) -> None:
    pair = ReaderPair()
    documents = conformance_suite(shared_data)
    outcomes = Counter(map(pair.compare, documents))
    assert {name: outcomes[name] for name in FINDINGS} == FINDINGS
    assert outcomes["alike"] > 600
    assert outcomes["refused"] > 1_900


def real_documents(shared_data: Path) -> list[bytes]:
    return [path.read_bytes() for path in sorted(shared_data.glob("documents/**/*.xml"))]


def test_all_real_documents_are_read_without_expat(shared_data: Path) -> None:
    pair = ReaderPair()
    outcomes = Counter(map(pair.compare, real_documents(shared_data)))
    assert outcomes.keys() <= {"alike", "refused"}
    assert outcomes["alike"] > 600


def test_damaged_documents() -> None:
    counts, example = fuzz(SEEDS, TOKENS, seed=1, count=100_000)
    assert {name: counts[name] for name in FINDINGS} == FINDINGS, example
    assert counts["alike"] > 10_000


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(10))
def test_a_million_damaged_documents(shared_data: Path, seed: int) -> None:
    some = [*conformance_suite(shared_data), *real_documents(shared_data)]
    seeds = [*SEEDS * 50, *(document for document in some if len(document) < 4_000)]
    counts, example = fuzz(seeds, TOKENS, seed=seed, count=1_000_000)
    assert {name: counts[name] for name in FINDINGS} == FINDINGS, example
