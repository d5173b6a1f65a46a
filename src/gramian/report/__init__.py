"""Explains a fitted model: a folder of tables, pictures and one page that a person can open."""

from gramian.report.results import Fitted, Written, write_results

__all__ = ["Fitted", "Written", "write_results"]
