"""The encoding of a text that is not Unicode, judged from its letters: which one makes usual words of all of them."""

from __future__ import annotations

import codecs
import re
from collections.abc import Callable, Iterable

ENCODINGS = {
    "cp1252": "Western European (Windows)",
    "cp1250": "Central European (Windows)",
    "cp1251": "Cyrillic (Windows)",
    "koi8-r": "Cyrillic (KOI8)",
    "cp1253": "Greek (Windows)",
    "cp1254": "Turkish (Windows)",
    "gb18030": "Chinese (GBK)",
    "big5": "Chinese (Big5)",
    "cp932": "Japanese (Shift JIS)",
    "euc-jp": "Japanese (EUC)",
    "cp949": "Korean",
}
"""What may be told, and how it is called. Of Greek and Turkish letters nothing tells that they are no others."""
WESTERN = "cp1252"
JUDGED = 64 * 1024
"""Bytes beyond ASCII, with their neighbours, that are looked at."""
FEWEST = 3
"""Letters from which anything but Western European is judged."""
USUAL_SHARE = 0.9
LETTER = re.compile(rb"[\x80-\xff]")
SEPARATOR = re.compile(rb"[\x00-\x1f,;|\"]")
NEIGHBOURS = 256
"""ASCII before the first letter of a cell that is looked at: a cell may be as long as the file."""
SYMBOL_IN_WORD = re.compile(r"(?<=[^\W\d_])[³¹¿¼¾œŸ¥¯¶·](?=[^\W\d_])")
"""What Polish, Czech and Hungarian letters become if they are read as Western European."""
PIECE_BYTES = 1 << 20


def told_or_judged(content: bytes, told: str) -> tuple[bytes, str]:
    """A text in UTF-8, and the encoding that it had: as `told`, or with "auto" as its letters suggest; "auto" if it was UTF-8."""
    if is_utf8(content):
        return content, "auto"
    form = encoding_of(content) if told == "auto" else told
    decoder = codecs.getincrementaldecoder(form)("replace")
    starts = range(0, len(content), PIECE_BYTES)
    pieces = (decoder.decode(content[start : start + PIECE_BYTES], start + PIECE_BYTES >= len(content)) for start in starts)
    return b"".join(piece.encode() for piece in pieces), form


def is_utf8(content: bytes) -> bool:
    """Whether all of it is UTF-8, looked at a piece at a time."""
    if content.isascii():
        return True
    decoder = codecs.getincrementaldecoder("utf-8")()
    try:
        for start in range(0, len(content), PIECE_BYTES):
            decoder.decode(content[start : start + PIECE_BYTES], start + PIECE_BYTES >= len(content))
    except UnicodeDecodeError:
        return False
    return True


def encoding_of(content: bytes) -> str:
    """The encoding of a text that is not UTF-8."""
    sample = b"\n".join(dict.fromkeys(_pieces(content)))
    found = {form: score for form, usual in USUAL.items() if (score := _score(sample, form, usual)) >= USUAL_SHARE}
    if found:
        return max(found, key=lambda form: found[form])  # the first of equals
    western, central = (sample.decode(form, "replace") for form in (WESTERN, "cp1250"))
    odd = SYMBOL_IN_WORD.findall(western)
    return "cp1250" if odd and len(SYMBOL_IN_WORD.findall(central)) < len(odd) and "\ufffd" not in central else WESTERN


def _pieces(content: bytes) -> Iterable[bytes]:
    """Cells with a letter beyond ASCII, up to a total size."""
    size = end = 0
    while letter := LETTER.search(content, end):
        at, after = letter.start(), SEPARATOR.search(content, letter.end())
        before = SEPARATOR.split(content[max(end, at - NEIGHBOURS) : at])[-1]
        end = after.start() if after else len(content)
        size += len(before) + end - at
        if size > JUDGED:
            return
        yield (before + content[at:end]).strip()


def _score(sample: bytes, form: str, usual: Callable[[str, bytes], bool]) -> float:
    """The share of the letters beyond ASCII that are usual in this encoding; 0 if it is none."""
    try:
        text = sample.decode(form)
    except UnicodeDecodeError:
        return 0.0
    letters = [c for c in text if not c.isascii()]
    if len(letters) < FEWEST or (form in FREQUENT and not FREQUENT[form](letters, form)):
        return 0.0
    if form in CYRILLIC:
        return _cyrillic(text)
    known = {c: usual(c, c.encode(form)) for c in set(letters)}
    return sum(known[c] for c in letters) / len(letters)


def _kana(c: str) -> bool:
    return "\u3040" <= c <= "\u30ff"


def _chinese(c: str, code: bytes) -> bool:
    """The first level of GB 2312 (3755 characters), and its signs; kana in it are Japanese."""
    return len(code) == 2 and code[1] >= 0xA1 and (0xB0 <= code[0] <= 0xD7 or (0xA1 <= code[0] <= 0xA3))


def _taiwanese(c: str, code: bytes) -> bool:
    return len(code) == 2 and 0xA1 <= code[0] <= 0xC6


def _japanese(c: str, code: bytes) -> bool:
    """Kana, signs, and kanji of the first level."""
    first = (0x88, 0x97) if code[0] < 0xA0 else (0xB0, 0xCF)
    return _kana(c) or "\u3000" <= c <= "\u303f" or (len(code) == 2 and first[0] <= code[0] <= first[1])


def _korean(c: str, code: bytes) -> bool:
    return "\uac00" <= c <= "\ud7a3" and code[0] >= 0xB0 and code[1] >= 0xA1


def _cyrillic(text: str) -> float:
    """The share of letters in words of this alphabet alone that are small, capitals, or both as one expects.

    What one of the encodings has as capitals, the other has as small letters: a little is taken off for rare letters.
    """
    words = re.findall(r"[^\W\d_]+", text)
    letters = [c for word in words for c in word if not c.isascii()]
    pure = [word for word in words if all("\u0400" <= c <= "\u045f" for c in word)]
    if sum(len(word) > 3 for word in pure) < 2:
        return 0.0
    good = sum(len(word) for word in pure if word.islower() or word.istitle() or word.isupper())
    frequent = sum(c in "оеаинтсрвлк" for c in "".join(letters).lower())
    return (good - 0.05 * (len(letters) - frequent)) / len(letters)


def _has_kana(letters: list[str], form: str) -> bool:
    return any(_kana(c) for c in letters)


def _many(letters: list[str], form: str) -> bool:
    """Few Hangul could as well be Chinese, whose codes are the same and more."""
    return len(set(letters)) >= 6


def _high(letters: list[str], form: str) -> bool:
    """Western signs before a letter (µm, °C) are characters of Big5 whose second byte is small; of others many are not."""
    return len(set(letters)) >= 4 and sum(c.encode(form)[-1] >= 0xA1 for c in letters) > 0.3 * len(letters)


USUAL: dict[str, Callable[[str, bytes], bool]] = {
    "euc-jp": _japanese,
    "cp932": _japanese,
    "cp949": _korean,
    "gb18030": _chinese,
    "big5": _taiwanese,
    "cp1251": lambda c, code: True,
    "koi8-r": lambda c, code: True,
}
"""The letters that are usual, in encodings of which they tell."""
CYRILLIC = ("cp1251", "koi8-r")
FREQUENT: dict[str, Callable[[list[str], str], bool]] = {"euc-jp": _has_kana, "cp932": _has_kana, "cp949": _many, "big5": _high}
"""What must hold besides."""
