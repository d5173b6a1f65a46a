"""An empty gallery of two components, for the tests of its file."""

import numpy as np

from gramian.faces.gallery.store import connect

META = {
    "fingerprint": "ab" * 32,
    "components": 2,
    "variances": np.array([2.0, 1.0]).tobytes(),
    "shifts": b"",
    "created": "2026-01-02T03:04:05+00:00",
    "gramian": "0.1.0",
    "settings": "{}",
}


def empty(connection):
    return None


def opened(path, *, read_only=False, timeout=0.05):
    return connect(path, read_only=read_only, timeout=timeout)
