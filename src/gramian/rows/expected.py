"""What a fitted model expects of new data: its columns by name, and means for missing values."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy.typing as npt

from gramian.checks import counted, first_few, listed
from gramian.errors import DataError
from gramian.rows.alleles import in_fitted_alleles
from gramian.rows.lazy.spool import columns_taken
from gramian.rows.table import Table


@dataclass(frozen=True, eq=False)
class Expected:
    """The columns that a model was fitted on.

    Attributes
    ----------
    names : tuple of str or None
        Their names, in order; None where they had none.
    means : ndarray of shape (n_features,) or None
        What missing values are filled with; None where the model was not fitted with ``missing="mean"``.
    alleles : dict of str to str
        Which allele a column counted, by its name, where that is known.
    holes : bool
        Whether the model maps rows with missing values from their observed entries.
    leave_out : bool
        Whether genotypes may lack variants, or have some of unclear allele: they become missing values.
    """

    names: tuple[str, ...] | None = None
    means: npt.NDArray[Any] | None = None
    alleles: Mapping[str, str] = field(default_factory=dict)
    holes: bool = False
    leave_out: bool = False

    def places(
        self, available: Sequence[str], source: str, advice: str = "Add the missing columns, or rename yours."
    ) -> tuple[list[int], tuple[str, ...]]:
        """Return where the expected columns are among the available ones, and notes on the changes.

        Raises
        ------
        DataError
            If one is not there.
        """
        names = self.names or ()
        known = set(names)
        where = {name: place for place, name in enumerate(available)}
        missing = [name for name in names if name not in where]
        if missing:
            raise DataError(
                f"The columns of {source} lack {listed(missing)}, which the model was fitted on. "
                f"Expected: {first_few(names)}. {advice}"
            )
        results = [where[name] for name in names]
        notes: list[str] = []
        if others := [name for name in available if name not in known]:
            extra = counted(
                len(others),
                "column that the model was not fitted on was",
                "columns that the model was not fitted on were",
            )
            notes.append(f"{extra} left out: {listed(others)}")
        if results != sorted(results):
            notes.append("columns were put in the order of the fitted data, by name")
        return results, tuple(notes)

    def ordered(self, table: Table) -> Table:
        """Return a table with the expected columns in their order, and notes on the changes.

        A table without names stays as it is.

        Raises
        ------
        DataError
            If a column is not there, or it is unclear which allele it counts.

        Examples
        --------
        >>> import numpy as np
        >>> table = Table(np.array([[1.0, 2.0, 3.0]]), ("z", "y", "x"))
        >>> ordered = Expected(("x", "y")).ordered(table)
        >>> ordered.values.tolist(), ordered.notes[0]
        ([[3.0, 2.0]], "1 column that the model was not fitted on was left out: 'z'")
        """
        if self.names is not None and (table.alleles is not None or table.other_alleles is not None):
            table = in_fitted_alleles(table, self.names, self.alleles, leave_out=self.leave_out)
        names = table.feature_names
        if self.names is None or names is None or names == self.names:
            return table
        places, notes = self.places(names, table.source)
        values = columns_taken(table.values, places)
        return replace(table, values=values, feature_names=self.names, notes=(*table.notes, *notes))
