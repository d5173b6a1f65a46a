"""Answers in words of one ordered scale, such as "Strongly disagree" to "Strongly agree", as numbers."""

from __future__ import annotations

import itertools
import re
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from gramian.core.checks import first_few, listed
from gramian.errors import ParameterError
from gramian.tables import strings
from gramian.tables.columns import ColumnsInMemory, ColumnSource, is_text, whole_fields
from gramian.tables.reading import ReadingOptions, Remembered, group_column

MOST, FEWEST = 12, (2, 3)  # different answers of a column; columns, and answers in all, that are a scale
_MIDDLE = "Neutral|Neither agree nor disagree|Neither|Undecided|Not sure"
# A scale a line, the shorter ones and the lowest first; of several words for one place a table has one.
SCALES = f"""Strongly disagree<Disagree<Agree<Strongly agree
Not at all<Several days<More than half the days<Nearly every day
Strongly disagree<Disagree<{_MIDDLE}<Agree<Strongly agree
Strongly disagree<Somewhat disagree<{_MIDDLE}<Somewhat agree<Strongly agree
Never<Rarely|Seldom|Almost never<Sometimes|Occasionally<Often|Frequently|Usually<Always|Very often
Very poor|Very bad<Poor|Bad<Fair|Average|Acceptable<Good<Very good|Excellent
Poor<Fair<Good<Very good<Excellent
Very dissatisfied<Dissatisfied<Neutral|Neither<Satisfied<Very satisfied
Very unlikely<Unlikely<Neutral|Neither<Likely<Very likely
Not at all<A little|Slightly|A little bit<Moderately|Somewhat<Quite a bit|Very<Extremely|Very much
Not important<Slightly important<Moderately important<Important<Very important
Never<Rarely|Seldom<Sometimes|Occasionally<Often|Usually<Very often|Almost always<Always
Strongly disagree<Disagree<Somewhat disagree<{_MIDDLE}<Somewhat agree<Agree<Strongly agree
Strongly disagree<Disagree<Slightly disagree<{_MIDDLE}<Slightly agree<Agree<Strongly agree"""


def scale_of(answers: Sequence[str]) -> tuple[str, ...] | None:
    """Return the shortest ordered scale that has all these answers, each at another place; None if none has.

    Examples
    --------
    >>> scale_of(["agree", "Undecided", "Strongly agree"])
    ('Strongly disagree', 'Disagree', 'Undecided', 'Agree', 'Strongly agree')
    >>> scale_of(["yes", "no"])
    """
    answered = {answer.strip().casefold() for answer in answers}
    for scale in SCALES.splitlines():
        if answered.issubset(re.split("[<|]", scale.casefold())):
            ranks = [rank.split("|") for rank in scale.split("<")]
            shown = [[word for word in rank if word.casefold() in answered] or rank[:1] for rank in ranks]
            if max(map(len, shown)) == 1:
                return tuple(itertools.chain(*shown))
    return None


def find_answers(names: Sequence[str], arrays: Sequence[Any]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the ordered answers that several columns of text have, and their names; none if few do.

    Examples
    --------
    >>> often = pa.array(["never", "often", None, "always"])
    >>> find_answers(["tired", "happy"], [often, pa.array(["often", "rarely", "often", "often"])])[1]
    ('tired', 'happy')
    """
    found: dict[str, set[str]] = {}
    for name, column in zip(names, arrays, strict=True):
        few = is_text(column) and len(pc.unique(column[:1000])) <= MOST
        if few and scale_of(some := pc.unique(column).drop_null().to_pylist()):
            found[name] = {answer.strip().casefold() for answer in some}
    groups = [[name for name in found if scale_of([*found[name], *found[first]])] for first in found]
    best = max(groups, key=len, default=[])
    scale = scale_of(every := sorted(set[str]().union(*map(found.__getitem__, best))))
    several = len(best) >= FEWEST[0] and len(every) >= FEWEST[1]
    return (scale, tuple(best)) if scale is not None and several else ((), ())


def coded(source: ColumnSource, reading: ReadingOptions, answers: Sequence[str]) -> ColumnSource:
    """Return a table in memory whose columns of such answers hold 1, 2, 3, ... instead.

    Raises
    ------
    ParameterError
        If no column holds these answers only, and they were asked for.
    """
    source = source.prepared(reading)
    fields, order = whole_fields(source), pa.array([item.casefold() for item in answers])
    names, _ = source.unique_names(len(fields))
    as_they_are = {
        *reading.label_columns,
        reading.id,
        *(group_column(item, names) for item in reading.groups),
    }
    done: list[str] = []
    for index, (name, field) in enumerate(zip(names, fields, strict=True)):
        if name in as_they_are or not is_text(field):
            continue
        texts = strings.as_given(field, source.na_values)
        codes = pc.index_in(pc.utf8_lower(pc.utf8_trim_whitespace(texts)), order)
        if codes.null_count == texts.null_count < len(texts):
            numbers = pc.add(codes, 1)
            fields[index] = pc.fill_null(numbers.cast(field.type), "") if source.separator else numbers
            done.append(name)
    if not done and reading.answers and not isinstance(answers[0], Remembered):
        problem = f"are not all that a column of {source.source} holds"
        raise ParameterError("answers", list(answers), problem, "Write them as the file does, lowest first.")
    note = f"{first_few(done, repr)}: {listed(answers)} became 1 to {len(answers)}"
    notes = (*source.notes, note) if done else source.notes
    return ColumnsInMemory(fields, source.names, source.source, notes, source.separator, source.na_values)
