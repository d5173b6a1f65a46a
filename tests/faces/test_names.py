"""Names that can be stored, and texts of unknown origin on a line."""

import pytest

from gramian.core.checks import shown
from gramian.errors import DataError, InputTypeError
from gramian.faces.gallery import LONGEST_NAME, person_name


def test_names_of_people_and_what_is_none():
    for given, stored in [
        ("Anna", "Anna"),
        ("  Anna Maria\t", "Anna Maria"),
        ("Zoe\u0308", "Zo\u00eb"),
        ("Пётр Ильи́ч", "Пётр Ильи́ч"),
        ("王小明", "王小明"),
        ("محمد\u200cعلی", "محمد\u200cعلی"),  # a joiner inside of a word is part of how it is written
        ("O'Brien; DROP TABLE people", "O'Brien; DROP TABLE people"),
        ("👩🏽\u200d🔬", "👩🏽\u200d🔬"),
        ("❤\ufe0f", "❤\ufe0f"),
        ("葛\U000e0100城", "葛\U000e0100城"),  # one of the forms of a character
        ("श्री\u200dमान", "श्री\u200dमान"),
        ("é" * LONGEST_NAME, "é" * LONGEST_NAME),
    ]:
        assert person_name(given) == stored
    hidden = ("An\nna", "An\u2028na", "An\x85na", "An\0na", "An\x1b[31mna", "Anna\u202ecod", "An\udc80na")
    for name in ("", " \n ", "a" * 201, *hidden, "An\ufffdna"):
        with pytest.raises(DataError, match=r"or one that cannot be displayed\. Give 1 to 200 characters"):
            person_name(name)
    with pytest.raises(InputTypeError, match=r"s name must be text, not bytes\."):
        person_name(b"Anna")
    for letter in HIDDEN:
        for name in (f"An{letter}na", f"Anna{letter}", letter):
            with pytest.raises(DataError, match=r"cannot be displayed"):
                person_name(name)
            assert name != f"An{letter}na" or shown(name) == f"An{ascii(letter)[1:-1]}na"


HIDDEN = [
    *map(chr, [0x200B, 0x200E, 0x200F, *range(0x202A, 0x202F), *range(0x2066, 0x206A), 0x2060, 0xFEFF]),
    *map(chr, [0x61C, 0xAD, 0x180E, 0xE0041, 0x7F]),
]
