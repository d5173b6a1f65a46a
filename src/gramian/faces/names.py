"""Names of people: which can be stored, and how a text of unknown origin is shown on a line."""

from __future__ import annotations

import unicodedata
from typing import Any

from gramian.errors import DataError, InputTypeError

__all__ = ["LONGEST_NAME", "person_name", "shown"]

LONGEST_NAME = 200
# Drawn as nothing although they count as letters, marks or symbols, by which one name could pass for another.
BLANKS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0\ufffc")
JOINERS = frozenset("\u200c\u200d")
# Scripts in which a joiner changes how letters are written: Arabic, Syriac, the scripts of India, Myanmar,
# Khmer, Mongolian and others beside them.
JOINED = ((0x0600, 0x109F), (0x1700, 0x1CFF), (0xA840, 0xA8FF), (0xFB50, 0xFDFF), (0xFE70, 0xFEFC))
# Chooses among the forms of a sign, of a Chinese character or of a Mongolian letter.
SELECTORS = ((0x180B, 0x180D), (0x180F, 0x180F), (0xFE00, 0xFE0F), (0xE0100, 0xE01EF))
VARIED = ((0x1800, 0x18AF), (0x2E80, 0x2FDF), (0x3400, 0x9FFF), (0xF900, 0xFAFF), (0x20000, 0x3FFFF))


def person_name(name: Any) -> str:
    """Return a person's name as it is stored: composed (NFC), without blanks around it.

    Raises
    ------
    InputTypeError
        For what is not text.
    DataError
        For a name that is empty, longer than 200 characters, or holds characters that cannot be seen.

    Examples
    --------
    >>> person_name(" Zoe\u0308 ") == "Zo\u00eb"
    True
    """
    if not isinstance(name, str):
        raise InputTypeError(f"The name of a person is {type(name).__name__}. Give text.")
    normal = unicodedata.normalize("NFC", name).strip()
    if not normal:
        raise DataError(f"The name of a person is empty ({name!r}). Give at least one letter.")
    if len(normal) > LONGEST_NAME:
        raise DataError(
            f"The name {shown(normal[:20])!r}... has {len(normal)} characters; at most {LONGEST_NAME} are "
            "stored. Shorten it."
        )
    for place, letter in enumerate(normal):
        if letter == "\ufffd" or _is_hidden(normal, place):
            raise DataError(
                f"The name {normal!a} holds the character {letter!a}, which no line of text can show. "
                "Leave it out."
            )
    if all(unicodedata.category(letter)[0] in "MZ" for letter in normal):
        raise DataError(f"The name {normal!a} has no letter. Give at least one.")
    return normal


def shown(text: Any) -> str:
    r"""Return a text on one line, with what no line can show written as an escape.

    What a file holds may have been put there to change what a terminal shows.

    Examples
    --------
    >>> print(shown("Anna\x1b[2J"))
    Anna\x1b[2J
    """
    text = str(text)
    return "".join(
        letter.encode("unicode_escape").decode() if _is_hidden(text, place) else letter
        for place, letter in enumerate(text)
    )


def _is_hidden(text: str, place: int) -> bool:
    """Say whether a character cannot be seen: it controls something, or is drawn as nothing."""
    letter = text[place]
    if " " <= letter <= "~":
        return False
    if letter in JOINERS:
        around = text[place - 1 : place] + text[place + 1 : place + 2]
        return len(around) < 2 or not all(_is_joined(other) for other in around)
    if _within(letter, SELECTORS):
        before = text[place - 1 : place]
        return not before or not (_within(before, VARIED) or unicodedata.category(before) in ("So", "Sm"))
    # Controls, formats and marks of direction, halves of characters, ends of lines and of paragraphs.
    return letter in BLANKS or unicodedata.category(letter) in ("Cc", "Cf", "Cs", "Zl", "Zp")


def _is_joined(letter: str) -> bool:
    """Say whether a joiner may stand beside a letter: one of such a script, or a picture sign."""
    if unicodedata.category(letter) in ("So", "Sk") or letter == "\ufe0f":
        return True
    return _within(letter, JOINED) and unicodedata.category(letter)[0] in "LM"


def _within(letter: str, ranges: tuple[tuple[int, int], ...]) -> bool:
    return any(first <= ord(letter) <= last for first, last in ranges)
