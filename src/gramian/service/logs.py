"""A log with one line of JSON for every request: route, status and time."""

from __future__ import annotations

import json
import logging
import sys
import threading
import time

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gramian.service.metrics import Metrics

LOG = logging.getLogger("gramian.service")
METHODS = ("GET", "HEAD", "POST", "PUT", "DELETE")


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


class Log:
    """Wraps the application; counts and logs the route, never its parameters."""

    def __init__(self, app: ASGIApp, metrics: Metrics) -> None:
        self.app, self.metrics = app, metrics

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        began, status = time.perf_counter(), 500

        async def noted(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self.app(scope, receive, noted)
        finally:
            seconds = time.perf_counter() - began
            method = scope["method"] if scope["method"] in METHODS else "other"
            route = getattr(scope.get("route"), "path", "none")
            self.metrics.requests.labels(method, route, str(status)).inc()
            self.metrics.seconds.labels(method, route).observe(seconds)
            payload = {"method": method, "route": route, "status": status, "ms": round(1000 * seconds, 1)}
            LOG.info("request", extra={"payload": payload})
