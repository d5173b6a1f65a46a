"""Keeps records on disk: safe files, no pickle, nothing that runs when read."""

from gramian.store.atomic import (
    atomic_folder,
    atomic_write,
    check_writable,
    finish_folder,
    place_inside,
    readable_file,
)
from gramian.store.contents import Array, Given, Nested, Optional, Options, Sizes, conform, is_single
from gramian.store.model_file import FORMAT_VERSION, StoredModel, read_model, versions, write_model
from gramian.store.passes import Pass, Passes, remove_checkpoint

__all__ = [
    "FORMAT_VERSION",
    "Array",
    "Given",
    "Nested",
    "Optional",
    "Options",
    "Pass",
    "Passes",
    "Sizes",
    "StoredModel",
    "atomic_folder",
    "atomic_write",
    "check_writable",
    "conform",
    "finish_folder",
    "is_single",
    "place_inside",
    "read_model",
    "readable_file",
    "remove_checkpoint",
    "versions",
    "write_model",
]
