"""Encoding names that a document may declare, and the Python codec that each stands for.

Python's codec registry also holds compressors, escapes and address codings; a document must not
choose those.  So this is a list of what is allowed, not of what is refused: it means the same on
every platform, and an unknown name never reaches the registry, which remembers every name that it
was ever asked for and would grow with each invented one.
"""

from __future__ import annotations

from encodings import normalize_encoding
from encodings.aliases import aliases
from typing import Final

UTF_8: Final = "utf_8"
LATIN_1: Final = "latin_1"
ASCII: Final = "ascii"

EXPAT_NAMES: Final = {UTF_8: "utf-8", LATIN_1: "iso-8859-1", ASCII: "us-ascii"}
"""The codecs whose documents expat reads itself, with expat's name for each."""

_CODE_PAGES: Final = (
    *("1250", "1251", "1252", "1253", "1254", "1255", "1256", "1257", "1258", "874"),  # Windows
    *("437", "720", "737", "775", "850", "852", "855", "856", "857", "858", "860", "861"),  # DOS
    *("862", "863", "864", "865", "866", "869", "1006", "1125"),
    *("037", "273", "424", "500", "875", "1026", "1140"),  # EBCDIC
    *("932", "949", "950"),  # East Asia
)
_CODECS: Final = frozenset(
    (
        *(ASCII, LATIN_1, UTF_8),
        *("utf_16", "utf_16_le", "utf_16_be", "utf_32", "utf_32_le", "utf_32_be"),
        *(f"iso8859_{part}" for part in range(2, 17) if part != 12),
        *(f"cp{page}" for page in _CODE_PAGES),
        *("hp_roman8", "tis_620", "koi8_r", "koi8_t", "koi8_u", "kz1048", "ptcp154", "palmos"),
        *("mac_arabic", "mac_croatian", "mac_cyrillic", "mac_farsi", "mac_greek", "mac_iceland"),
        *("mac_latin2", "mac_roman", "mac_romanian", "mac_turkish"),
        *("shift_jis", "shift_jis_2004", "shift_jisx0213"),
        *("euc_jp", "euc_jis_2004", "euc_jisx0213", "iso2022_jp", "iso2022_jp_1", "iso2022_jp_2"),
        *("iso2022_jp_2004", "iso2022_jp_3", "iso2022_jp_ext"),
        *("gb2312", "gbk", "gb18030", "hz", "big5", "big5hkscs"),
        *("euc_kr", "johab", "iso2022_kr"),
    )
)

# Registered or widespread names for which Python has no alias in every version we run on.
_MORE_ALIASES: Final = {
    "iso_10646_ucs_2": "utf_16",
    "iso_10646_ucs_4": "utf_32",
    "ucs_2": "utf_16",
    "ucs_4": "utf_32",
    "iso_8859_8_i": "iso8859_8",
    "iso_8859_8_e": "iso8859_8",
    "windows_874": "cp874",
    "windows_31j": "cp932",
    "x_sjis": "shift_jis",
    "x_euc_jp": "euc_jp",
    "x_gbk": "gbk",
}

_LONGEST_NAME: Final = 60


def codec_for(name: str) -> str | None:
    """The codec for a declared encoding name, in any spelling; None where there is none."""
    if len(name) > _LONGEST_NAME:
        return None
    normal = normalize_encoding(name).lower()
    for spelling in (normal, normal.replace(".", "_")):
        codec = _MORE_ALIASES.get(spelling) or aliases.get(spelling, spelling)
        if codec in _CODECS:
            return codec
    return None
