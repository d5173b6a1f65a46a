"""Text that a spreadsheet would run as a formula: how delimited files write it, and read it again."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from gramian.rows.columns.numerals import is_number_text

# https://owasp.org/www-community/attacks/CSV_Injection; the last four are the same signs in full width.
_STARTS = "[-=+@\t\r\n\uff0d\uff1d\uff0b\uff20]"
QUOTED = f"'{_STARTS}".encode()  # in every text that has such texts, and in some others


def shown_as_text(texts: Any) -> Any:
    """Return an array of texts with a single quote before those that a spreadsheet would run; numbers stay.

    Texts that begin with single quotes before such a text get one more, so that :func:`as_written` undoes it
    exactly.

    Examples
    --------
    >>> shown_as_text(["=1+1", "'=1+1", "-1.5", "'90s", None]).to_pylist()
    ["'=1+1", "''=1+1", '-1.5', "'90s", None]
    >>> as_written(["'=1+1", "''=1+1", "-1.5", "'90s", None]).to_pylist()
    ['=1+1', "'=1+1", '-1.5', "'90s", None]
    """
    texts = _array(texts)
    return pc.if_else(_is_formula(texts), pc.binary_join_element_wise("'", texts, ""), texts)


def as_written(texts: Any) -> Any:
    """Return texts without the quote that :func:`shown_as_text` put before some."""
    texts = _array(texts)
    quoted = pc.and_(pc.starts_with(texts, "'"), _is_formula(texts))
    return pc.if_else(quoted, pc.utf8_slice_codeunits(texts, 1), texts)


def _array(texts: Any) -> Any:
    return texts if isinstance(texts, pa.Array) else pa.array(texts, pa.string())


def _is_formula(texts: Any) -> Any:
    bare = pc.utf8_ltrim(texts, "'")
    return pc.and_(pc.match_substring_regex(bare, f"^{_STARTS}"), pc.invert(is_number_text(bare)))
