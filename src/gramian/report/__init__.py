"""Explains a fitted model: a folder of tables, pictures and one page that a person can open."""

from gramian.report.results import Written, write_results
from gramian.report.summary import Fitted

__all__ = ["Fitted", "Written", "write_results"]
