"""Rows that came and went: what is known of them without their numbers."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from gramian.rows.rows import Block, Rows


@dataclass(frozen=True, eq=False, kw_only=True)
class SeenRows(Rows):
    """A table of which only size and kind are left; whoever asks for numbers is refused by design.

    Attributes
    ----------
    count, columns : int
        Its shape.
    kind : array
        Empty, of the kind and dtype that results are returned in.
    """

    count: int
    columns: int
    kind: Any

    @property
    def shape(self) -> tuple[int, int]:
        return self.count, self.columns

    @property
    def like(self) -> Any:
        return self.kind

    def block(self, rows: slice) -> Block:
        raise NotImplementedError("these rows were not kept")

    def in_memory(self) -> Any:
        return self.block(slice(None))

    def owned(self) -> Any:
        return self.block(slice(None))
