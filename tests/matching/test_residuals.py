"""Expressions of XPath 1.0 in the kernel: to the letter what libxml2 answers."""

from __future__ import annotations

from random import Random

import pytest
from random_expressions import RandomExpressions, random_document
from residuals import Libxml2, compiled, quoted

from twigcast.matching import CompactDocument, Matcher

DOCUMENTS = (
    (
        '<?pi1 before?><!--top--><a x="1" xml:lang="en-US"><b id="i1">1</b><b y="2">2.5</'
        'b>text<c><d>3</d><!--inside--><e/><?go there?>tail</c><b>abc</b><f xml:lang="de"'
        "> x  y\n z </f></a><!--end-->"
    ),
    (
        '<p:a xmlns:p="urn:p" xmlns="urn:q" p:x="1" x="2"><b/><c xmlns=""><d/><p:e xmlns:'
        'r="urn:r">5</p:e></c></p:a>'
    ),
    (
        '<!DOCTYPE a [<!ATTLIST b id ID #IMPLIED><!ELEMENT a ANY>]><a><b id="one">1<b id='
        '"two">2</b></b><c xml:id="three"/><b id=" five "/><c id="four"/><c xml:id="  s "'
        "/></a>"
    ),
    "<a><a><a><b/></a><b/><a/></a><b>7</b></a>",
)

AXES = (
    "child descendant descendant-or-self self parent ancestor ancestor-or-self following-sibling"
    " preceding-sibling following preceding attribute"
).split()
TESTS = "node() * b text() comment() processing-instruction()".split()
STEPS = (
    "count(//node()/{0})",
    "count(//@*/{0})",
    "string(//node()/{0})",
    "name(//*/{0}[1])",
    "count(//*/{0}[2])",
    "count(//*/{0}[last()])",
    "count(//*[{0}])",
    "count(//*[{0}[position()=2]/..])",
    "name((//*/{0})[3])",
    "count((//*/{0})[last()])",
    "string(/*/*[2]/{0}[position()<3][2])",
)

EXPRESSIONS = """
count(//namespace::*)
count(//namespace::p)
string(//namespace::r)
name(//namespace::r)
count(//namespace::*/..)
local-name(//*[last()])
namespace-uri(//*)
name(//@*)
name(//@*[2])
namespace-uri(//@*[1])
name(/*)
count(id('one'))
count(id('five'))
count(id('s p'))
count(id('s'))
string(id('two'))
count(id('one two three four'))
count(id(//@id))
name(id('three'))
count(//namespace::node())
count(//*/namespace::*[name()='p'])
count(//*[lang('en')])
count(//*[lang('EN-us')])
count(//*[lang('de')])
count(//@*[lang('en')])
count(//text()[lang('en')])
sum(//b)
sum(//@*)
count(//p:e)
count(//p:*)
count(//q:b)
string(//c)
normalize-space(//f)
string-length(/)
number(//b)
//b = 2.5
//b != 1
//b > //d
//b < //d
//b = //d
//@* = //b
not(//b = 1)
boolean(//zz)
true() = //b
false() = //zz
//b = true()
//zz < true()
//b >= true()
true() > 0.5
true() < 5
'a' = true()
'' = false()
1 = '1'
'1.0' = 1
'a' < 'b'
'1' < '2'
count(//b | //c | //b)
name((//c | //b)[1])
string(//comment())
string(//processing-instruction())
name(//processing-instruction())
string(//processing-instruction('go'))
count(/node())
count(//node())
local-name(//processing-instruction())
count(//processing-instruction('zz'))
substring('12345',2,3)
substring('12345',1.5,2.6)
substring('12345',0,3)
substring('12345',0 div 0,3)
substring('12345',1,0 div 0)
substring('12345',-42,1 div 0)
substring('12345',-1 div 0,1 div 0)
substring('12345',-1 div 0)
substring('12345', 2)
substring('12345', 0 div 0)
substring('éàü',2,1)
translate('bar','abc','AB')
translate('--aaa--','abc-','ABC')
translate('éa','aé','éa')
translate('aab','aa','bc')
substring-before('1999/04/01','/')
substring-after('1999/04/01','/')
substring-after('abc','')
substring-before('abc','')
substring-after('abc','z')
starts-with('abc','')
contains('abc','')
contains('','')
concat('a',1,true())
string(1 div 0)
string(-1 div 0)
string(0 div 0)
string(-0)
string(- 0.0)
1 div -0
round(2.5)
round(-2.5)
round(-0.2)
1 div round(-0.2)
round(1 div 0)
floor(-1.5)
ceiling(-1.5)
ceiling(-0.5)
1 div ceiling(-0.5)
5 mod 2
5 mod -2
-5 mod 2
1.5 mod 0.5
5 mod 0
-(//b)
- - 1
2 - 1 - 1
2*3 div 4
number('1e3')
number('  12  ')
number('+1')
number('1.')
number('.5')
number('')
number('0x10')
number('Infinity')
number('1e')
number('-')
number('- 1')
number(true())
string(123456789)
string(1234567890.5)
string(0.1+0.2)
string(1 div 3)
string(1e300*1e10)
string(12345678901234567890)
string(0.0000001)
/..
count(/..)
boolean(/)
count(/)
string(//b[last()])
string(//b[position()=last()-1])
count(//b[position() mod 2 = 1])
string((//b)[2])
string(//b[2])
//b[1][2]
count(//b[. > 1][1])
count(//b[1][. > 1])
//a[b and c]
//a[b or zz]
//a[count(b) > 2]
count(//*[count(*) = 0])
count(//*[string-length() > 3])
count(//*[normalize-space()])
count(//*[self::b or self::c])
count(//*[name() = 'b'])
count(//*[local-name(..) = 'a'])
count(//b[preceding-sibling::b[1] = 1])
count(//b[following::*])
count(//*[ancestor::c])
count(//*[//b = .])
count(//b[. = //d])
//b[not(@id)][2]/following-sibling::*[1]
string(//b[count(preceding-sibling::b) = 1])
""".strip().splitlines()


@pytest.fixture(params=DOCUMENTS, ids=range(len(DOCUMENTS)), scope="module")
def both(request: pytest.FixtureRequest) -> tuple[CompactDocument, Libxml2]:
    return CompactDocument(request.param), Libxml2(request.param)


def check(text: str, both: tuple[CompactDocument, Libxml2]) -> None:
    document, oracle = both
    expected = oracle.value(text)
    assert document.matches(compiled(f"boolean({text})")) == oracle.value(f"boolean({text})"), text
    if not isinstance(expected, list):
        spelled = oracle.string(text)
        assert document.matches(compiled(f"string({text}) = {quoted(spelled)}")), (text, spelled)


@pytest.mark.parametrize("axis", AXES)
def test_axes_lead_where_those_of_libxml2_lead(
    axis: str, both: tuple[CompactDocument, Libxml2]
) -> None:
    for test in TESTS[:3] if axis == "attribute" else TESTS:
        for step in STEPS:
            check(step.format(f"{axis}::{test}"), both)


def test_functions_and_operators_are_those_of_libxml2(
    both: tuple[CompactDocument, Libxml2],
) -> None:
    for text in EXPRESSIONS:
        check(text, both)


@pytest.mark.parametrize("seed", range(20))
def test_random_expressions_are_those_of_libxml2(seed: int) -> None:
    random = Random(seed)
    expressions = RandomExpressions(random)
    for _ in range(10):
        text = random_document(random)
        both = CompactDocument(text), Libxml2(text)
        for _ in range(20):
            depth = random.randint(1, 4)
            maker = random.choice((expressions.nodes, expressions.boolean, expressions.value))
            check(f"boolean(//node()[{maker(depth)}])", both)
            check(f"count(//node()[{expressions.boolean(depth)}])", both)
            check(f"string(//*[{expressions.predicate(depth)}])", both)
            check(f"string((//*)[2]/{expressions.step(depth)})", both)


def test_what_a_name_decides_is_kept_and_what_the_document_decides_is_not() -> None:
    matcher = Matcher(
        {
            "name": "//*[ends-with(local-name(), 'b')][not(c)]",
            "document": "//*[local-name() = string(/*/@wanted)]",
        }
    )
    for wanted, names in (("x", "ab c"), ("ab", "ab c"), ("c", "ab c d"), ("z", "yb"), ("c", "d")):
        elements = "".join(f"<{name}/>" for name in names.split())
        expected = {"name"} if "b" in names else set()
        expected |= {"document"} if wanted in names.split() else set()
        assert set(matcher.match(f"<a wanted='{wanted}'>{elements}</a>")) == expected
