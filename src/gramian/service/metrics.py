"""What a server counts, in the text that Prometheus reads."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class Metrics:
    """Counts of one application."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._gauges: dict[str, Gauge] = {}
        self.requests = Counter(
            "gramian_requests", "Requests answered.", ("method", "route", "status"), registry=self.registry
        )
        self.seconds = Histogram(
            "gramian_request_seconds",
            "Time until the end of the answer.",
            ("method", "route"),
            buckets=BUCKETS,
            registry=self.registry,
        )
        self.jobs = Counter("gramian_fits", "Fits that ended.", ("state",), registry=self.registry)

    def gauge(self, name: str, about: str, read: Callable[[], float]) -> None:
        """Show a number that is asked for whenever somebody looks."""
        if name not in self._gauges:
            self._gauges[name] = Gauge(name, about, registry=self.registry)
        self._gauges[name].set_function(read)

    def text(self) -> bytes:
        """Return all of them."""
        return generate_latest(self.registry)
