"""Metrics of the server, in the format of Prometheus."""

from __future__ import annotations

from collections.abc import Callable

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest

BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class Metrics:
    """Metrics of one application."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        self._gauges: dict[str, Gauge] = {}
        self.requests = Counter(
            "gramian_requests", "Answered requests.", ("method", "route", "status"), registry=self.registry
        )
        self.seconds = Histogram(
            "gramian_request_seconds",
            "Seconds until the end of the response.",
            ("method", "route"),
            buckets=BUCKETS,
            registry=self.registry,
        )
        self.jobs = Counter("gramian_fits", "Completed fits by state.", ("state",), registry=self.registry)

    def gauge(self, name: str, about: str, read: Callable[[], float]) -> None:
        """Add a gauge that is read on every request of the metrics."""
        if name not in self._gauges:
            self._gauges[name] = Gauge(name, about, registry=self.registry)
        self._gauges[name].set_function(read)

    def text(self) -> bytes:
        """Return all metrics."""
        return generate_latest(self.registry)
