"""Keeps records on disk: safe files, no pickle, nothing that runs when read."""

from gramian.store.atomic import atomic_write
from gramian.store.model_file import FORMAT_VERSION, StoredModel, read_model, write_model

__all__ = ["FORMAT_VERSION", "StoredModel", "atomic_write", "read_model", "write_model"]
