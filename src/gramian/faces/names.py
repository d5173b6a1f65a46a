"""Names of people: which can be stored, and how a text of unknown origin is shown on a line."""

from __future__ import annotations

import unicodedata
from typing import Any

from gramian.errors import DataError, InputTypeError

LONGEST_NAME = 200
# Drawn as nothing although they count as letters, marks or symbols, by which one name could pass for another.
BLANKS = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u2800\u3164\uffa0\ufffc")
JOINERS = "\u200c\u200d"
# Scripts that need joiners and variation selectors begin here: Arabic, those of India, Chinese, emoji.
# Among Latin, Greek and Cyrillic letters nobody would see them.
JOINED = "\u0600"


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
    before, after = text[place - 1 : place], text[place + 1 : place + 2]
    if letter in JOINERS:
        return not all(one >= JOINED and unicodedata.category(one)[0] in "LMS" for one in (before, after))
    if "VARIATION SELECTOR" in unicodedata.name(letter, ""):
        return not before >= JOINED
    # Controls, formats and marks of direction, halves of characters, ends of lines and of paragraphs.
    return letter in BLANKS or unicodedata.category(letter) in ("Cc", "Cf", "Cs", "Zl", "Zp")
