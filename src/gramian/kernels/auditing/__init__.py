"""The search for counterexamples: is a function a kernel, and which points show that it is not."""

from gramian.kernels.auditing.mercer import AuditReport, Verdict, audit
from gramian.kernels.auditing.witness import Asymmetry, Witness

__all__ = ["Asymmetry", "AuditReport", "Verdict", "Witness", "audit"]
