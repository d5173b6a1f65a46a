"""The log, lines of JSON, and the metrics of Prometheus: every request with its route, status and time."""

from __future__ import annotations

import json
import logging
import sys
import threading

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram
from starlette.types import Scope

LOG = logging.getLogger("gramian.service")
METHODS = ("GET", "HEAD", "POST", "PUT", "DELETE")
BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)


class JsonLines(logging.Formatter):
    """Writes a record as a JSON object: time, level, message and further fields."""

    def format(self, record: logging.LogRecord) -> str:
        """Return one line."""
        payload = {"time": self.formatTime(record), "level": record.levelname, "message": record.getMessage()}
        payload |= getattr(record, "payload", {})
        if record.exc_info:
            payload["traceback"] = self.formatException(record.exc_info)
        return json.dumps(payload)


def log_as_json() -> None:
    """Write logs, warnings and uncaught errors to standard error as JSON."""
    handler = logging.StreamHandler()
    handler.setFormatter(JsonLines())
    logging.getLogger().addHandler(handler)
    LOG.setLevel(logging.INFO)
    logging.captureWarnings(True)
    sys.excepthook = lambda kind, error, trace: LOG.critical("failed", exc_info=error)
    threading.excepthook = lambda thread: LOG.error("failed", exc_info=thread.exc_value)
    sys.unraisablehook = lambda ignored: LOG.error("failed", exc_info=ignored.exc_value)


class Metrics:
    """Metrics of one application."""

    def __init__(self) -> None:
        here = self.registry = CollectorRegistry()
        asked, about = ("method", "route"), "Seconds until the end of the response."
        self.requests = Counter("gramian_requests", "Answered requests.", (*asked, "status"), registry=here)
        self.seconds = Histogram("gramian_request_seconds", about, asked, buckets=BUCKETS, registry=here)
        self.jobs = Counter("gramian_fits", "Completed fits by state.", ("state",), registry=here)
        self.workers = Gauge("gramian_busy_workers", "Workers that are busy.", registry=here)
        self.fits = Gauge("gramian_running_fits", "Fits that are running.", registry=here)
        self.visitors = Gauge("gramian_visitors", "Visitors with items.", registry=here)

    def note(self, scope: Scope, status: int, seconds: float) -> None:
        """Count and log a request: its route, never its parameters."""
        method = scope["method"] if scope["method"] in METHODS else "other"
        route = getattr(scope.get("route"), "path", "none")
        self.requests.labels(method, route, str(status)).inc()
        self.seconds.labels(method, route).observe(seconds)
        payload = {"method": method, "route": route, "status": status, "ms": round(1000 * seconds, 1)}
        LOG.info("request", extra={"payload": payload})
