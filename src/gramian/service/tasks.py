"""Tasks of a worker: describe items, plan, fit, and apply models."""

from __future__ import annotations

import inspect
import json
import os
import threading
import time
import warnings
from collections.abc import Callable
from dataclasses import asdict, replace
from typing import Any, TypeVar

import numpy as np

from gramian.analysis.components import component_names, mapping_of
from gramian.analysis.proposals import proposals
from gramian.arrays import memory_limit_bytes
from gramian.checks import check_choice, check_integer, counted
from gramian.errors import DataError, GramianError, MissingValuesWarning, ParameterError, shortened
from gramian.estimators.inputs import expected_columns
from gramian.estimators.kernel_pca import KernelPCA
from gramian.estimators.monitor import can_be_monitored, monitor_of
from gramian.estimators.pca import PCA
from gramian.estimators.whitener import Whitener
from gramian.faces import recognition
from gramian.faces.face_images import Faces
from gramian.faces.gallery import Gallery, enroll_into
from gramian.faces.reading import read_faces
from gramian.faces.space import FaceSpace
from gramian.loading import load
from gramian.plots.images import center_of
from gramian.progress import report_to
from gramian.reading import IMPUTED
from gramian.report.facts import (
    calibration_facts,
    data_facts,
    gallery_facts,
    info_facts,
    plain,
    plan_facts,
    skipped_facts,
    used_text,
)
from gramian.report.pieces import completed
from gramian.report.reconstruction import Errors, rebuilt
from gramian.report.tables import feature_names
from gramian.rows.table import Table
from gramian.service.bodies import (
    FILES_OF_PICTURES,
    Message,
    columns_of,
    read_table,
    write_rows,
)
from gramian.store import read_model

T = TypeVar("T")
ESTIMATORS: dict[str, type[Any]] = {kind.__name__: kind for kind in (PCA, KernelPCA, Whitener, FaceSpace)}
MOST_CACHED = 8  # cached models, galleries and tables
TOLD = 100  # names of columns and labels in the facts of a table
SECONDS_BETWEEN = 0.1  # two reports of how far a fit is
Say = Callable[[Message], None]
Task = Callable[..., Message]
_cache: dict[tuple[Any, ...], Any] = {}


def cached(part: Message, read: Callable[[str], Any], of: str = "") -> Any:
    """Read a file, or return it from the cache; files that are gone leave the cache."""
    path = part["path"]
    key = path, os.stat(path).st_mtime_ns if os.path.exists(path) else None, of
    result = _cache.pop(key) if key in _cache else read(path)
    _cache[key] = result
    room = memory_limit_bytes(None) // 4
    for place, (key, one) in enumerate(reversed(_cache.copy().items())):
        # An array inside a file (FILE::NAME) is not a path.
        gone = key[1] is not None and not os.path.exists(key[0])
        if isinstance(one, Table):
            room -= bytes_of(one.values)
        elif not isinstance(one, Gallery) and os.path.isfile(key[0]):
            room -= os.path.getsize(key[0])
        if gone or place >= MOST_CACHED or (room < 0 and not isinstance(one, Gallery)):
            del _cache[key]
            if isinstance(one, Gallery):
                one.close()
    return result


def bytes_of(values: Any) -> int:
    """Return the bytes of numbers, also of a sparse matrix."""
    parts = (values.data, values.indices, values.indptr) if hasattr(values, "indptr") else (values,)
    return sum(part.nbytes for part in parts)


# --------------------------------------------------------------- items


def describe_model(model: Message) -> Message:
    """Return the facts of a model file; others raise an error."""
    stored = read_model(model["path"])
    return {**info_facts(load(model["path"]), stored.kind), "versions": stored.versions}


def describe_gallery(gallery: Message) -> Message:
    """Return the facts of a gallery; other files raise an error."""
    with Gallery.open(gallery["path"], read_only=True) as opened:
        return gallery_facts(opened)


def describe_data(data: Message, draft: bool = False) -> Message:
    """Return the facts of a table or pictures. Unless it is a draft, unusable data raise an error."""
    seen, problem = columns_of(data), None
    facts: Message = {"rows": seen.rows, "columns": seen.width} if seen else {}
    try:
        table = read_table(data)
        kinds = set() if table.labels is None else set(table.labels.tolist())
        facts |= data_facts(table) | {
            "labels": sorted({shortened(str(kind)) for kind in kinds})[:TOLD] or None
        }
        facts["feature_names"] = plain(table.feature_names and table.feature_names[:TOLD])
    except GramianError as error:
        if not draft or seen is None:
            raise
        problem = error.worded("page")
    facts |= {"source": data["name"], "reading": data["reading"], "problem": problem}
    proposed = [] if seen is None else [asdict(one) for one in proposals(seen)]
    return facts | {"preview": None if seen is None else seen.facts(), "proposals": proposed}


# --------------------------------------------------------------- fits


def _made(fit: Message) -> Any:
    kind = ESTIMATORS[check_choice("estimator", fit["estimator"], tuple(ESTIMATORS))]
    # The server sets the memory limit.
    allowed = [name for name in inspect.signature(kind).parameters if name != "memory_limit"]
    for name in fit["parameters"]:
        check_choice("parameter", name, allowed)
    return kind(**fit["parameters"])


def _training(made: Any, data: Message) -> Any:
    """Return the training data: a table, or pictures of people."""
    if not isinstance(made, FaceSpace):
        table = read_table(data)
        if table.missing in IMPUTED and not isinstance(made, PCA):
            raise ParameterError(
                f"Missing values are imputed by PCA only, not by {type(made).__name__}. Fill them with "
                "column means, or drop such rows or columns."
            )
        return table
    if data["kind"] not in (*FILES_OF_PICTURES, ".npz") and not data["given"]:
        raise DataError("Face recognition needs a .zip of pictures, or an .npz with pictures X and people y.")
    return read_faces(data["path"], size=data["reading"].get("size"))


def plan(fit: Message, data: Message) -> Message:
    """Return the plan of a fit."""
    made = _made(fit)
    return _plan(made, _training(made, data))


def _plan(made: Any, table: Any) -> Message:
    chosen = made.plan(table)
    used = used_text(table) if isinstance(table, Table) else counted(len(table.pictures), "picture")
    return {"plan": plain(plan_facts(chosen)), "text": str(chosen), "used": used}


def fit(fit: Message, data: Message, answer: Message, say: Say) -> Message:
    """Fit and save a model; send the plan first, and then the progress."""
    made = _made(fit)
    with report_to(_Messages(say)):
        table = _training(made, data)
    say(_plan(made, table))
    start = time.perf_counter()
    with warnings.catch_warnings(record=True) as raised, report_to(_Messages(say)):
        warnings.simplefilter("always")
        made.fit(table)
    seconds = time.perf_counter() - start
    made.save(answer["path"])
    texts = [str(one.message) for one in raised if one.category.__module__.startswith("gramian")]
    return {**info_facts(made, fit["estimator"]), "seconds": seconds, "warnings": texts}


class _Messages:
    """Sends the progress of a fit to the server, but not too often."""

    def __init__(self, say: Say) -> None:
        self._say, self._last = say, 0.0
        self._counts: tuple[str | None, int, int] = (None, 0, 0)
        self._lock = threading.Lock()

    def update(self, message: str, unit: str | None = None, done: int = 0, total: int = 0) -> None:
        with self._lock:
            if unit is not None:
                self._counts = unit, done, total
            now = time.monotonic()
            if now - self._last < SECONDS_BETWEEN:
                return
            self._last, (unit, done, total) = now, self._counts
            self._say({"text": message, "counted": unit, "done": done, "total": total})


# --------------------------------------------------------------- models applied


def applied(model: Message, data: Message, *, whole: bool = True) -> tuple[Any, Table]:
    """Return a fitted model, of a monitor the model that it watches, and the rows for it.

    Missing values are imputed where the rows must be whole.
    """
    fitted = mapping_of(cached(model, load))

    def read(path: str) -> Table:
        return read_table(data, expected_columns(fitted), getattr(fitted, "picture_shape_", None))

    table = cached(data, read, f"{model['path']} {json.dumps(data['reading'], sort_keys=True)}")
    return fitted, completed(fitted, table) if whole else table


def transform(model: Message, data: Message, answer: Message) -> Message:
    """Write the scores of rows."""
    fitted, table = applied(model, data, whole=False)
    scores, table = _noted(table, lambda: np.asarray(fitted.transform(table)))
    return write_rows(answer, table, fitted.get_feature_names_out(), scores.reshape(len(scores), -1))


def _noted(table: Table, work: Callable[[], T]) -> tuple[T, Table]:
    """Return a result, and the table with a note of the rows that determine nothing."""
    with warnings.catch_warnings(record=True) as raised:
        warnings.simplefilter("always", MissingValuesWarning)
        result = work()
    return result, replace(table, notes=(*table.notes, *(str(warning.message) for warning in raised)))


def reconstruct(model: Message, data: Message, answer: Message, components: int | None) -> Message:
    """Write reconstructions of rows from some components, with relative errors."""
    fitted, table = applied(model, data)
    if not fitted.model_kind.has_components:
        raise ParameterError(f"This {type(fitted).__name__} cannot reconstruct rows. Choose a PCA.")
    most = int(fitted.n_components_)
    count = most if components is None else check_integer("components", components, 1, most)
    if isinstance(fitted, FaceSpace):
        back = fitted.reconstruct(table, count)
        errors = fitted.errors(table, [count])[:, 0]
    else:
        result = Errors(center_of(fitted))
        back = np.concatenate([block for _, block in rebuilt(fitted, table, count, result)])
        errors = result.relative
    return write_rows(answer, table, feature_names(table), back.reshape(len(back), -1), error=errors)


def monitor(
    model: Message, data: Message, answer: Message, alpha: float | None, normal: Message | None
) -> Message:
    """Write T2 and SPE of each row with limits, alarms and the columns that contribute most."""
    given = cached(model, load)
    fitted, table = applied(model, data, whole=False)
    if not can_be_monitored(fitted):
        raise ParameterError(
            f"A {type(given).__name__} has no T2 or SPE of rows. Choose a PCA or a KernelPCA."
        )
    rows = None if normal is None else applied(model, normal, whole=False)[1]
    made = monitor_of(given, table, alpha=alpha, normal=rows)
    result, table = _noted(table, lambda: made.statistics(table, rows="auto"))
    noted = replace(table, notes=(*table.notes, result.summary, *made.limits_.sentences))
    numbers = {name: values for name, values in result.finite.items() if values.dtype.kind == "f"}
    texts = {name: values for name, values in result.columns.items() if name not in (*numbers, "row")}
    return write_rows(answer, noted, tuple(numbers), np.stack(list(numbers.values()), axis=1), **texts)


def denoise(model: Message, data: Message, answer: Message) -> Message:
    """Write rows denoised by kernel PCA, with distances from their projections in feature space."""
    fitted, table = applied(model, data)
    if not fitted.model_kind.kernel:
        raise ParameterError(f"Denoising needs a kernel PCA, and this is a {type(fitted).__name__}.")
    values, residuals = fitted.denoise(table, return_error=True)
    values = np.asarray(values)
    return write_rows(answer, table, feature_names(table), values.reshape(len(values), -1), error=residuals)


def components(model: Message, answer: Message, count: int) -> Message:
    """Write the mean and the first components as rows or pictures."""
    fitted = mapping_of(cached(model, load))
    if isinstance(fitted, FaceSpace):
        mean, rows = fitted.mean_face_, fitted.component_pictures(min(count, fitted.n_components_))
    elif fitted.model_kind.linear:
        mean, rows = fitted.mean_, np.asarray(fitted.components_)[:count]
    else:
        raise ParameterError(
            f"Components of a {type(fitted).__name__} are not rows. Choose a PCA or a FaceSpace."
        )
    values = np.concatenate([np.reshape(mean, (1, -1)), np.reshape(rows, (len(rows), -1))])
    names = getattr(fitted, "feature_names_in_", None)
    shape = getattr(fitted, "picture_shape_", None)
    titles = ("mean", *component_names(len(rows)))
    table = Table(values, None if names is None else tuple(names), titles, picture_shape=shape)
    return write_rows(answer, table, feature_names(table), values)


# --------------------------------------------------------------- faces


def _space(model: Message) -> FaceSpace:
    space = cached(model, load)
    if not isinstance(space, FaceSpace):
        raise ParameterError(f"The model is a {type(space).__name__}, not a face model.")
    return space


def recognise(
    model: Message, gallery: Message, data: Message, person: str | None, far: float | None
) -> Message:
    """Identify people in pictures, or verify one person."""
    space = _space(model)
    known = cached(gallery, lambda path: Gallery.open(path, space, read_only=True), space.fingerprint_)
    if person is not None:
        person = known.person(person)
    recogniser = known.recogniser(far=far)
    height, width = space.picture_shape_
    if data["kind"] in (".json", ".ndjson"):
        faces: Any = Faces(np.asarray(read_table(data).values), None, (), ())
    else:
        faces = read_faces(data["path"], size=(width, height))
    if person is None:
        answers = recognition.identify(space, recogniser, faces)
    else:
        answers = recognition.verify(space, recogniser, faces, person)
    listed = faces.names or [str(place) for place in range(len(answers))]
    facts = {
        "answers": [{"picture": name, **asdict(one)} for name, one in zip(listed, answers, strict=True)],
        "skipped": skipped_facts(faces.skipped),
        "calibration": calibration_facts(recogniser, person),
    }
    return dict(plain(facts))


def enroll(model: Message, data: Message, answer: Message) -> Message:
    """Create a gallery of people from pictures with a folder for each person."""
    space = _space(model)
    height, width = space.picture_shape_
    faces = read_faces(data["path"], size=(width, height))
    if faces.people is None:
        raise DataError("The pictures have no names of people. Put them into a folder for each person.")
    enroll_into(
        answer["path"], space, faces.people, space.transform(faces), faces.hashes, sources=faces.names
    )
    return describe_gallery(answer)


def nothing() -> Message:
    """Return nothing: the worker has started."""
    return {}


def by_name(*tasks: Task) -> dict[str, Task]:
    """Return tasks by their names, as orders have them."""
    return {task.__name__: task for task in tasks}


TASKS = by_name(
    *(nothing, describe_model, describe_gallery, describe_data, plan, fit),
    *(transform, reconstruct, denoise, monitor, components, recognise, enroll),
)
