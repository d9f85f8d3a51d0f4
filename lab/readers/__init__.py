"""The kernel's two readers side by side: the checked one, and expat behind it.

:class:`ReaderPair` reads documents both ways and compares what comes of it; :func:`fuzz` does that
with documents that it damages.  :data:`TOKENS` are what it puts in: the marks of XML, and what is
easily read the wrong way.
"""

from __future__ import annotations

from typing import Final

from lab.readers._readers import ReaderPair, fuzz

__all__ = ["SEEDS", "TOKENS", "ReaderPair", "fuzz"]

TOKENS: Final = [
    *b"< > </ /> = \" ' & ; <!-- --> -- <![CDATA[ ]]> ]] <? ?> <?xml <!DOCTYPE [ : #".split(),
    *b"&amp; &lt; &gt; &quot; &apos; &#65; &#x41; &#x; &#; &#0; &#x10FFFF; &#x110000;".split(),
    *b"&#xD800; &#13; &#xA; &#9; &undefined; xmlns xmlns: xmlns:p='u' xmlns='' xmlns:p=''".split(),
    *b"p: p:a xml:lang".split(),
    *(b" ", b"\n", b"\r", b"\r\n", b"\t", b"\0", b"\x7f", b"\x1f", b"\xef\xbb\xbf", b"\xc2\xa0"),
    *(
        text.encode()
        for text in ("é", "ß", "日本", "\U0001f600", "\ufffd", "\u0085", "\u2028", "·", "ª")
    ),
    *(b"\xed\xa0\x80", b"\xef\xbf\xbe", b"\xc0\x80", b"\xf4\x90\x80\x80", b"\xe9", b"\xff"),
    b'<?xml version="1.0"?>',
    b'<?xml version = "1.0" encoding="ISO-8859-1" standalone="yes" ?>',
    b"<?xml version=\"1.1\" encoding='utf-8'?>",
    b'<!DOCTYPE a SYSTEM "b">',
    b'<!DOCTYPE a PUBLIC "b" "c">',
    b"<!DOCTYPE a [<!ENTITY e 'f'>]>",
    b'xmlns:q="http://www.w3.org/XML/1998/namespace"',
    b'xmlns:xml="http://www.w3.org/XML/1998/namespace"',
    b'xmlns="http://www.w3.org/2000/xmlns/"',
    b'a="1" a="2"',
    b'p:a="1" q:a="2" xmlns:p="u" xmlns:q="u"',
]

SEEDS: Final = [
    b"<a/>",
    b"<a>b</a>",
    b'<?xml version="1.0" encoding="UTF-8"?>\n<a b="c" d=\'e\'>f<g/>h<!--i--><?j k?></a>\n',
    b'<p:a xmlns:p="u" p:b="1" b="2"><p:c xmlns:p="v" xmlns="w"><d p:e="3"/></p:c></p:a>',
    b'<!DOCTYPE a PUBLIC "-//x//y" "z">\r\n<a b="&lt;&#10;\t\r\n">&amp;\r\n<![CDATA[<&]]>\r</a>',
    "\ufeff<a b='é'>日<é é=''>\U0001f600</é></a><!-- -->".encode(),
    b'<?xml version="1.0" encoding="iso-8859-1"?><a b="\xe9">\xfc<!--\xe4--></a>',
]
