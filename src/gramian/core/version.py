"""The version, written down once: packaging and saved models read it from here."""

__version__ = "0.2.0"
