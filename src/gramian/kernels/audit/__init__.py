"""The search for counter-examples: is a function a kernel, and which points show that it is not."""

from gramian.kernels.audit.mercer import audit
from gramian.kernels.audit.verdict import AuditReport, Verdict
from gramian.kernels.audit.witness import Asymmetry, Witness

__all__ = ["Asymmetry", "AuditReport", "Verdict", "Witness", "audit"]
