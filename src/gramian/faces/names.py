"""Names of people: normalised and checked before they are stored."""

from __future__ import annotations

import unicodedata
from typing import Any

from gramian.checks import is_hidden, shown
from gramian.errors import DataError, InputTypeError

LONGEST_NAME = 200


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
        raise InputTypeError(f"A person's name must be text, not {type(name).__name__}.")
    normal = unicodedata.normalize("NFC", name).strip()
    if not normal:
        raise DataError(f"A person's name is empty ({name!r}). Give at least one letter.")
    if len(normal) > LONGEST_NAME:
        raise DataError(
            f"The name {shown(normal[:20])!r}... has {len(normal)} characters; at most {LONGEST_NAME} are "
            "allowed. Shorten it."
        )
    for place, letter in enumerate(normal):
        if letter == "\ufffd" or is_hidden(normal, place):
            raise DataError(
                f"The name {normal!a} contains the character {letter!a}, which cannot be displayed. Leave it "
                "out."
            )
    if all(unicodedata.category(letter)[0] in "MZ" for letter in normal):
        raise DataError(f"The name {normal!a} has no letter. Give at least one.")
    return normal
