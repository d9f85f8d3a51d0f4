"""Functions of texts."""

from __future__ import annotations

import math
import re
import unicodedata
from urllib.parse import quote

from twigcast.matching.reference.comparisons import compare_texts
from twigcast.matching.reference.conversions import to_text
from twigcast.matching.reference.definitions import define
from twigcast.matching.reference.items import Atomic, DynamicError, Item, Sequence, atomic
from twigcast.matching.reference.number_functions import round_half_up
from twigcast.matching.reference.regular import Matching, replace_all
from twigcast.matching.reference.regular_reader import read_regular
from twigcast.matching.reference.setting import Setting

_SPACE = re.compile(r"[ \t\r\n]+")


@define("string", "items", needs_setting=True)
def string(setting: Setting, items: Sequence) -> str:
    """The text of the first item in XPath 1.0, of the only one in XPath 2.0."""
    setting.charge(items[:1])
    if len(items) > 1 and setting.is_version_2:
        raise DynamicError("string() takes a single item, not a sequence of several")
    return to_text(items[0], is_version_2=setting.is_version_2) if items else ""


@define("concat", "spelled")
def concat(*texts: str) -> str:
    return "".join(texts)


@define("contains", "text", "text")
def contains(text: str, part: str) -> bool:
    return part in text


@define("starts-with", "text", "text")
def starts_with(text: str, part: str) -> bool:
    return text.startswith(part)


@define("ends-with", "text", "text")
def ends_with(text: str, part: str) -> bool:
    return text.endswith(part)


@define("substring-before", "text", "text")
def substring_before(text: str, part: str) -> str:
    return text.partition(part)[0] if part and part in text else ""


@define("substring-after", "text", "text")
def substring_after(text: str, part: str) -> str:
    return text[text.index(part) + len(part) :] if part in text else ""


@define("substring", "text", "double", "double")
def substring(text: str, start: float, length: float | None = None) -> str:
    """The characters whose positions, from 1, are at least the start and less than start + length.

    Both are rounded.  A comparison with NaN is false, so NaN gives nothing.
    """
    first = round_half_up(start)
    end = math.inf if length is None else first + round_half_up(length)
    return "".join(
        character for position, character in enumerate(text, start=1) if first <= position < end
    )


@define("string-length", "text")
def string_length(text: str) -> int:
    return len(text)


@define("normalize-space", "text")
def normalize_space(text: str) -> str:
    return _SPACE.sub(" ", text).strip(" ")


@define("translate", "text", "text", "text")
def translate(text: str, characters: str, replacements: str) -> str:
    """The first mention of a character counts; one without a replacement goes."""
    table: dict[str, str] = {}
    for index, character in enumerate(characters):
        table.setdefault(character, replacements[index : index + 1])
    return "".join(table.get(character, character) for character in text)


@define("lower-case", "text")
def lower_case(text: str) -> str:
    return text.lower()


@define("upper-case", "text")
def upper_case(text: str) -> str:
    return text.upper()


@define("string-join", "values", "text", needs_setting=True)
def string_join(setting: Setting, values: list[Atomic], separator: str = "") -> str:
    return separator.join(to_text(value, is_version_2=setting.is_version_2) for value in values)


@define("compare", "text?", "text?")
def compare(left: str | None, right: str | None) -> int | None:
    return None if left is None or right is None else compare_texts(left, right)


@define("codepoint-equal", "text?", "text?")
def codepoint_equal(left: str | None, right: str | None) -> bool | None:
    return None if left is None or right is None else left == right


@define("contains-token", "texts", "text")
def contains_token(texts: list[str], token: str) -> bool:
    token = token.strip(" \t\r\n")
    return bool(token) and any(token in _SPACE.split(text) for text in texts)


@define("string-to-codepoints", "text")
def string_to_codepoints(text: str) -> Sequence:
    return [atomic(ord(character)) for character in text]


@define("codepoints-to-string", "values")
def codepoints_to_string(values: list[Atomic]) -> str:
    characters: list[str] = []
    for value in values:
        code = value.value
        if not isinstance(code, int) or not _is_xml_character(code):
            raise DynamicError(f"{code} is not the code of a character")
        characters.append(chr(code))
    return "".join(characters)


def _is_xml_character(code: int) -> bool:
    return (
        code in (9, 10, 13)
        or 0x20 <= code <= 0xD7FF
        or 0xE000 <= code <= 0xFFFD
        or 0x10000 <= code <= 0x10FFFF
    )


@define("normalize-unicode", "text", "text")
def normalize_unicode(text: str, form: str = "NFC") -> str:
    form = form.strip(" \t\r\n").upper()
    match form:
        case "":
            return text
        case "NFC" | "NFD" | "NFKC" | "NFKD":
            return unicodedata.normalize(form, text)
        case _:
            raise DynamicError(f'"{form}" is no normalization form')


@define("encode-for-uri", "text")
def encode_for_uri(text: str) -> str:
    return quote(text, safe="-_.~")


@define("matches", "text", "text", "text", needs_setting=True)
def matches(setting: Setting, text: str, pattern: str, flags: str = "") -> bool:
    tree, _ = read_regular(pattern, flags)
    return Matching(tree, text, setting.budget.spend).search() is not None


@define("replace", "text", "text", "text", "text", needs_setting=True)
def replace(setting: Setting, text: str, pattern: str, replacement: str, flags: str = "") -> str:
    tree, groups = read_regular(pattern, flags)
    _refuse_empty_match(setting, pattern, flags)
    if "q" in flags:
        replacement = replacement.replace("\\", "\\\\").replace("$", "\\$")
    return replace_all(Matching(tree, text, setting.budget.spend), text, replacement, groups)


@define("tokenize", "text", "text", "text", needs_setting=True)
def tokenize(setting: Setting, text: str, pattern: str | None = None, flags: str = "") -> Sequence:
    if pattern is None:
        text, pattern = normalize_space(text), " "
    if not text:
        return []
    tree, _ = read_regular(pattern, flags)
    _refuse_empty_match(setting, pattern, flags)
    tokens: list[Item] = []
    position = 0
    for match in Matching(tree, text, setting.budget.spend).matches():
        tokens.append(atomic(text[position : match.start]))
        position = match.end
    return [*tokens, atomic(text[position:])]


def _refuse_empty_match(setting: Setting, pattern: str, flags: str) -> None:
    if matches(setting, "", pattern, flags):
        raise DynamicError(f'the regular expression "{pattern}" matches the empty string')
