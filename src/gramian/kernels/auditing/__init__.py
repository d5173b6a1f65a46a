"""Checks functions for positive semidefiniteness, and searches for counterexamples."""

from gramian.kernels.auditing.mercer import AuditReport, Verdict, audit
from gramian.kernels.auditing.witness import Asymmetry, Witness

__all__ = ["Asymmetry", "AuditReport", "Verdict", "Witness", "audit"]
