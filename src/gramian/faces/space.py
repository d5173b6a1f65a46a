"""Eigenfaces: a model fitted on pictures of faces, and the scores of pictures in it."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from operator import attrgetter
from typing import Annotated, Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from scipy.ndimage import gaussian_filter
from sklearn.utils.validation import check_is_fitted

from gramian.core.arrays import as_float64
from gramian.core.checks import check_choice, check_integer, counted, slices
from gramian.core.progress import shows_progress
from gramian.core.records import FloatArray, ModelKind, Plan, Seed
from gramian.errors import DataError, RankWarning, ignoring
from gramian.faces import face_images
from gramian.models import inputs, saving, sklearn
from gramian.models.fitted import InNotebooks, parameter_at_fit
from gramian.models.pca.estimator import PCA


def _norms(pictures: Any) -> FloatArray:
    flat = as_float64(pictures).reshape(len(pictures), -1)
    return np.asarray(np.linalg.norm(flat, axis=1))


KEEP = 0.99
BLOCK_BYTES = 64 << 20


def _of_decomposition(name: str, about: str) -> Any:
    """Return a property of a FaceSpace: what its decomposition calls so."""
    return property(attrgetter(f"_fitted.{name}"), doc=about)


class FaceSpaceAttributes(sklearn.BaseEstimator):
    """The attributes of a fitted FaceSpace."""

    decomposition_: PCA
    detector_: tuple[PCA, ...]
    picture_shape_: Annotated[tuple[int, int], "height width"]
    n_components_: Annotated[int, "k"]
    n_pictures_: int
    n_people_: int
    eigenvalues_: Annotated[FloatArray, "k"]
    mean_face_: Annotated[npt.NDArray[np.float32], "height width"]
    face_scores_: Annotated[FloatArray, "_"]
    face_threshold_: float
    face_keep_: float
    _fit_parameters: dict[str, Any]
    fingerprint_: str
    notes_: tuple[str, ...]


@sklearn.knows_names
@dataclass(eq=False, repr=False)
class FaceSpace(saving.Saved, InNotebooks, FaceSpaceAttributes):
    """Eigenfaces: principal components of pictures of faces.

    Parameters
    ----------
    n_components : int or float, default=0.95
        Number of components, or an explained variance ratio to reach.
    light : {"none", "equalise"}, default="none"
        Illumination correction, see :func:`relight`.
    random_state : int, RandomState, Generator or None, default=0
        Start of the iteration, and assignment of pictures to held-out folds.
    memory_limit : int, str or None, default=None
        Working memory in addition to the pictures and the results.

    Attributes
    ----------
    decomposition_ : PCA
        Fitted on the relit pictures.
    picture_shape_ : (height, width)
        Of the fitted pictures, in pixels.
    n_components_, n_pictures_, n_people_ : int
        ``n_people_`` is 0 where it is not known who is on the pictures.
    eigenvalues_ : ndarray of shape (k,), float64
        Variances of the scores, descending.
    mean_face_ : ndarray of shape (height, width), float32
        Mean of the relit pictures.
    detector_ : tuple of PCA
        The models behind :meth:`face_score`: components of small edge pictures, normalised to one contrast.
    face_scores_ : ndarray of shape (n_pictures_,), float64
        Held-out scores of the fitted pictures, ascending: each by a detector fitted without its person.
    face_threshold_ : float
        The limit that ``face_keep_`` of them are within. Pictures above it are not recognised as faces.
    face_keep_ : float
        0.99.
    fingerprint_ : str
        SHA-256 of everything that determines the scores of a picture.
    notes_ : tuple of str
        Automatic decisions.

    References
    ----------
    Turk and Pentland (1991), Eigenfaces for recognition. Sirovich and Kirby (1987), Low-dimensional procedure
    for the characterization of human faces.

    Examples
    --------
    >>> from gramian.faces import FaceSpace, example_faces
    >>> faces = example_faces().take(slice(0, 64))
    >>> space = FaceSpace(10).fit(faces)
    >>> space.transform(faces).shape, space.n_people_
    ((64, 10), 8)
    >>> errors = space.errors(faces, [1, 5, 10])
    >>> bool((errors[:, 0] >= errors[:, 1]).all() and (errors[:, 1] >= errors[:, 2]).all())
    True
    """

    model_kind: ClassVar = ModelKind.FACES
    _private: ClassVar[bool] = True  # its file shows the pictures that it was fitted on

    n_components: int | float = 0.95
    _: KW_ONLY
    light: str = "none"
    random_state: Seed = 0
    memory_limit: int | str | None = None

    def _check_restored(self) -> None:
        if self.decomposition_.n_components_ != self.n_components_:
            raise ValueError("decomposition_ has another number of components than the model")

    # ------------------------------------------------------------------ fit

    def fit(self, faces: Any, people: Any = None) -> Self:
        """Fit components to pictures of faces, and the limit of what is recognised as a face.

        Parameters
        ----------
        faces : Faces or array of shape (n, height, width)
            Pictures of one size, at least two of them different.
        people : sequence of n names, optional
            The person on each picture, by default those of ``Faces``. Names are not stored.

        Returns
        -------
        self
            The fitted estimator.

        Raises
        ------
        DataError
            For fewer than two pictures, identical pictures, or a number of people that does not match.
        ParameterError
            For a parameter outside its range.
        """
        pictures, relit = self._relit(faces)
        if len(pictures) < 2:
            raise DataError(
                f"There is {len(pictures)} picture, but a FaceSpace needs a minimum of 2.", "Give more."
            )
        people = _checked_people(faces, people, len(pictures))
        _check_varied(relit, pictures, self.light)
        with shows_progress("FaceSpace"):
            self.decomposition_ = result = self._decomposition().fit(relit)
        self._fit_parameters = {"light": self.light}
        self.picture_shape_ = (int(relit.shape[1]), int(relit.shape[2]))
        self.n_pictures_ = len(relit)
        self.n_people_ = 0 if people is None else len(np.unique(people))
        self.n_components_ = int(result.n_components_)
        self.eigenvalues_ = result.explained_variance_
        self.mean_face_ = np.asarray(result.mean_, dtype=np.float32).reshape(self.picture_shape_)
        self.fingerprint_ = self._fingerprint()
        self._calibrate(pictures, people)
        return self

    def plan(self, faces: Any) -> Plan:
        """Return the plan of ``fit(faces)`` for the components, without fitting.

        The face limit takes further PCAs of small pictures, one for each held-out fold.

        Parameters
        ----------
        faces : Faces or array of shape (n, height, width)
            Pictures, as for :meth:`fit`.

        Returns
        -------
        Plan
            Prints as a list of steps with predicted seconds and memory.
        """
        return self._decomposition().plan(self._relit(faces)[1])

    def _relit(self, faces: Any) -> tuple[face_images.Pictures, face_images.Relit]:
        check_choice("light", self.light, face_images.LIGHTS)
        pictures = face_images.as_pictures(faces)
        return pictures, face_images.relight(pictures, self.light)

    def _decomposition(self) -> PCA:
        return PCA(self.n_components, random_state=self.random_state, memory_limit=self.memory_limit)

    def _calibrate(self, pictures: face_images.Pictures, people: npt.NDArray[Any] | None) -> None:
        """Score every picture by a detector fitted without its person."""
        self.detector_ = fit_detector(pictures, self.random_state)
        (rng,) = inputs.generators(self.random_state, 1)
        held_out, how = folds(len(pictures), people, rng)
        scores = [np.empty(0)]
        for held in held_out:
            rest = np.ones(len(pictures), dtype=bool)
            rest[held] = False
            detector = fit_detector(pictures[rest], self.random_state)
            scores.append(unlikeness(detector, pictures[held]))
        self.face_keep_ = KEEP
        self.face_scores_ = np.sort(np.concatenate(scores))
        self.face_threshold_ = keeping(self.face_scores_, KEEP)
        self.notes_ = (how,)

    def _fingerprint(self) -> str:
        result = self.decomposition_
        digest = hashlib.sha256(repr((self.light_, self.picture_shape_)).encode())
        for array in (result.components_, result.mean_):
            digest.update(np.ascontiguousarray(array).tobytes())
        return digest.hexdigest()

    @property
    def light_(self) -> str:
        """The illumination correction of the fit."""
        check_is_fitted(self)
        return str(parameter_at_fit(self, "light"))

    # ------------------------------------------------------------ transform

    def transform(self, faces: Any) -> face_images.Relit:
        """Return the scores of pictures, shape (n, k), float32.

        Parameters
        ----------
        faces : Faces or array of shape (n, height, width)
            Of the model's size.

        Returns
        -------
        ndarray of shape (n, n_components_), float32
            The scores.
        """
        scores = self._of_relit(faces, lambda relit: self.decomposition_.transform(relit))
        return np.asarray(scores, dtype=np.float32)

    def _of_relit(self, faces: Any, work: Callable[[face_images.Relit], Any]) -> Any:
        """Apply a function to relit pictures, one block at a time."""
        return _by_blocks(lambda block: work(face_images.relight(block, self.light_)), self._checked(faces))

    def relight(self, faces: Any) -> face_images.Relit:
        """Return pictures with corrected illumination: what ``decomposition_`` was fitted on.

        Parameters
        ----------
        faces : Faces or array of shape (n, height, width)
            Pictures of the model's size.

        Returns
        -------
        ndarray of shape (n, height, width), float32
            Grey values for ``light="none"``.
        """
        return np.asarray(self._of_relit(faces, lambda relit: relit), dtype=np.float32)

    def _checked(self, faces: Any) -> face_images.Pictures:
        check_is_fitted(self)
        pictures = face_images.as_pictures(faces)
        if pictures.shape[1:] != self.picture_shape_:
            height, width = self.picture_shape_
            raise DataError(
                f"The pictures are {pictures.shape[2]}x{pictures.shape[1]} (width x height), but the model "
                f"has pictures of {width}x{height}.",
                f"Read them with size={f'{width}x{height}'!r}.",
            )
        return pictures

    def reconstruct(self, faces: Any, n_components: int | None = None) -> face_images.Relit:
        """Return pictures reconstructed from their scores on the first components.

        Parameters
        ----------
        faces : Faces or array of shape (n, height, width)
            Pictures of the model's size.
        n_components : int, optional
            Number of components; by default all.

        Returns
        -------
        ndarray of shape (n, height, width), float32
            After the illumination correction: grey values for ``light="none"``.
        """
        check_is_fitted(self)
        most = self.n_components_
        count = check_integer("n_components", most if n_components is None else n_components, 1, most)
        scores = self.transform(faces)
        scores[:, count:] = 0
        return np.asarray(self.decomposition_.inverse_transform(scores), dtype=np.float32)

    def errors(self, faces: Any, n_components: int | Sequence[int]) -> FloatArray:
        """Return the relative errors ``||x - x~|| / ||x - mean||`` of reconstructions.

        Parameters
        ----------
        faces : Faces or array of shape (n, height, width)
            Pictures of the model's size.
        n_components : int or sequence of int
            Numbers of components to reconstruct from.

        Returns
        -------
        ndarray of shape (n, len(n_components)), float64; (n, 1) for one number
            0 for a picture that is the mean.
        """
        check_is_fitted(self)
        requested: Any = [n_components] if np.ndim(n_components) == 0 else n_components
        counts = [check_integer("n_components", count, 1, self.n_components_) for count in requested]

        def relative(relit: face_images.Relit) -> FloatArray:
            sizes = _norms(relit - self.mean_face_)[:, None]
            scores = np.asarray(self.decomposition_.transform(relit), dtype=np.float32)
            column, left = np.arange(scores.shape[1]), []
            for count in counts:
                rebuilt = self.decomposition_.inverse_transform(np.where(column < count, scores, 0))
                left.append(_norms(relit - np.reshape(rebuilt, relit.shape)))
            distances = np.stack(left, axis=1)
            return np.divide(distances, sizes, out=np.zeros_like(distances), where=sizes > 0)

        return np.asarray(self._of_relit(faces, relative))

    def face_score(self, faces: Any) -> FloatArray:
        """Return the distance of pictures from the faces, shape (n,); ``face_threshold_`` is its limit.

        It is the unexplained share of a small edge picture after 75 components, independent of brightness and
        contrast, and of ``n_components`` and ``light``. Relative reconstruction errors do not
        distinguish faces from other pictures.

        Parameters
        ----------
        faces : Faces or array of shape (n, height, width)
            Pictures of the model's size.

        Returns
        -------
        ndarray of shape (n,), float64
            From 0 to about 1; the larger, the less like a face.
        """
        pictures = self._checked(faces)
        return np.asarray(_by_blocks(lambda block: unlikeness(self.detector_, block), pictures))

    # ------------------------------------------------ what the model says

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Return the names of the scores: PC1, PC2, ...

        Parameters
        ----------
        input_features : object, ignored
            For pipelines.

        Returns
        -------
        ndarray of shape (n_components_,), object
            The names.
        """
        return self._fitted.get_feature_names_out()

    @property
    def _fitted(self) -> Any:
        check_is_fitted(self)
        return self.decomposition_

    explained_variance_ = _of_decomposition("explained_variance_", "The eigenvalues, under PCA's name.")
    explained_variance_ratio_ = _of_decomposition(
        "explained_variance_ratio_", "Ratios of the variances to their total."
    )
    rank_ = _of_decomposition("rank_", "Number of components above the rank tolerance.")
    n_features_in_ = _of_decomposition("n_features_in_", "Number of pixels.")
    plan_ = _of_decomposition("plan_", "The plan by which the components were computed.")
    certificate_ = _of_decomposition("certificate_", "The certificate of the components.")

    @property
    def n_samples_(self) -> int:
        """Number of pictures, under PCA's name."""
        check_is_fitted(self)
        return self.n_pictures_


def _checked_people(faces: Any, people: Any, n: int) -> npt.NDArray[Any] | None:
    if people is None and isinstance(faces, face_images.Faces):
        people = faces.people
    if people is None:
        return None
    names = np.array(list(people), dtype=object)
    if names.shape != (n,):
        raise DataError(
            f"people has shape {names.shape} for {n} pictures.", "Give one name for each picture."
        )
    return names.astype(str)


def _check_varied(relit: face_images.Relit, pictures: face_images.Pictures, light: str) -> None:
    if (relit != relit[:1]).any():
        return
    after = "" if (pictures == pictures[:1]).all() else f" after light={light!r}"
    raise DataError(f"All {len(relit)} pictures are the same{after}.", "Give different ones.")


def _by_blocks(work: Callable[[face_images.Pictures], Any], pictures: face_images.Pictures) -> Any:
    """Apply a function to one block of pictures at a time."""
    step = max(1, BLOCK_BYTES // (4 * int(np.prod(pictures.shape[1:]))))
    return np.concatenate([work(pictures[some]) for some in slices(len(pictures), step) or [slice(0)]])


# ---- Detects faces by the unexplained share of small edge pictures after a few components

FOLDS = 5
MANY = 5000  # pictures above which one part is held out once, so that calibrating costs one more fit


def folds(
    n: int, people: npt.NDArray[Any] | None, rng: np.random.Generator
) -> tuple[list[npt.NDArray[np.intp]], str]:
    """Return the positions of the pictures that are held out together, and how they were chosen.

    Parameters
    ----------
    n : int
        Number of pictures.
    people : ndarray of shape (n,) or None
        All pictures of a person are held out together: a new person is what a new picture may show.
    rng : Generator

    Returns
    -------
    parts : list of ndarray of int
        Five, or fewer where there are fewer people; one where there are more than 5000 pictures.
    how : str

    Examples
    --------
    >>> parts, how = folds(4, np.array(["a", "a", "b", "b"]), np.random.default_rng(0))
    >>> [part.tolist() for part in parts]
    [[0, 1], [2, 3]]
    """
    groups = np.arange(n) if people is None else np.unique(people, return_inverse=True)[1]
    n_groups = int(groups.max()) + 1
    what = "people" if people is not None and n_groups > 1 else "pictures"
    if n_groups == 1:
        groups, n_groups = np.arange(n), n
    count = min(FOLDS, n_groups)
    part_of = np.empty(n_groups, dtype=np.intp)
    part_of[rng.permutation(n_groups)] = np.arange(n_groups) % count
    result = [np.flatnonzero(part_of[groups] == fold) for fold in range(count)]
    if n > MANY:
        result = result[:1]
    # What is left must be enough to fit.
    result = sorted((fold for fold in result if n - len(fold) >= 2), key=lambda fold: int(fold[0]))
    if not result:
        return [], f"there are too few pictures to calibrate the limit for faces ({n})"
    held = sum(map(len, result))
    return result, (
        f"the limit for faces was calibrated on {held:,} held-out pictures, split by {what}, with "
        f"{counted(len(result), 'more fit')}"
    )


def keeping(scores: FloatArray, keep: float) -> float:
    """Return the least threshold that a new score of the same kind is at or below with probability ``keep``.

    Of n scores it is the one of rank ``ceil((n + 1) keep)``, the largest where n is too small for that;
    infinite without scores.

    Parameters
    ----------
    scores : ndarray of shape (n,)
    keep : float

    References
    ----------
    Vovk, Gammerman and Shafer (2005), Algorithmic learning in a random world, proposition 2.4.

    Examples
    --------
    >>> keeping(np.arange(1.0, 200.0), 0.99)
    198.0
    """
    if not len(scores):
        return math.inf
    rank = min(len(scores), math.ceil((len(scores) + 1) * keep))
    return float(np.sort(scores)[rank - 1])


# Chosen on ORL faces, dogs and cats; docs/faces.md has the figures.
HEIGHT = 24
COMPONENTS = 75
VALUES = ("grey", "log")
SKETCHED = 256
SKETCH_BYTES = 64 << 20


def sketches(pictures: npt.NDArray[Any], values: str) -> npt.NDArray[np.float32]:
    """Return small pictures of edges, all at one contrast.

    Pictures are made 24 pixels high by averaging areas. Their grey values, or the
    logarithms of these, are smoothed by a Gaussian of 1 pixel less the same smoothed by one of 2, and divided
    by the root of their mean square: neither the brightness nor the contrast of a picture matters, nor light
    that changes slowly across it.

    Parameters
    ----------
    pictures : ndarray of shape (n, h, w)
        Those that are smaller stay as they are.
    values : {"grey", "log"}

    Returns
    -------
    ndarray of shape (n, height, width), float32
    """
    _, h, w = pictures.shape
    down, across = areas(h, min(HEIGHT, h)), areas(w, max(1, round(w * min(1.0, HEIGHT / h))))
    small = np.empty((len(pictures), len(down), len(across)), dtype=np.float32)
    for some in slices(len(pictures), max(1, min(SKETCHED, SKETCH_BYTES // (8 * h * w)))):
        block = down @ as_float64(face_images.grey_scale(pictures[some])) @ across.T
        if values == "log":
            block = np.log1p(np.maximum(block, 0.0))
        largest = np.abs(block).max(axis=(1, 2), keepdims=True)
        small[some] = edges(block, 1e-12 * np.maximum(largest, 1e-300))
    return small


def edges(pictures: npt.NDArray[Any], rounding: Any) -> npt.NDArray[Any]:
    """Return differences of two Gaussians, at contrast 1; 0 where there is no more than rounding."""
    axes = (1, 2)
    inner, outer = (gaussian_filter(pictures, sigma, axes=axes, mode="mirror") for sigma in (1.0, 2.0))
    result = inner - outer
    root = np.sqrt(np.mean(result.astype(np.float64) ** 2, axis=axes, keepdims=True))
    # A picture of one grey has no contrast to bring to 1.
    return np.where(root > rounding, result / np.maximum(root, rounding), 0.0)


def areas(size: int, wanted: int) -> FloatArray:
    """Return the matrix that averages ``size`` pixels into ``wanted``, by the overlap of their areas."""
    bounds = np.arange(wanted + 1) * (size / wanted)
    low, high, pixels = bounds[:-1, None], bounds[1:, None], np.arange(size)[None]
    overlap = np.clip(np.minimum(high, pixels + 1) - np.maximum(low, pixels), 0.0, None)
    return np.asarray(overlap / (high - low))


def fit_detector(pictures: npt.NDArray[Any], random_state: Any) -> tuple[PCA, ...]:
    """Return the components of sketches of faces: of their grey values, and of the logarithms of these.

    Parameters
    ----------
    pictures : ndarray of shape (n, h, w)
    random_state : int, RandomState, Generator or None
    """
    models = []
    for values in VALUES:
        small = sketches(pictures, values)
        # At most half of what there is: all of it would leave nothing over of anything.
        most = max(1, min(COMPONENTS, (len(small) - 1) // 2, small[0].size // 2))
        # The smaller of the two products: a direct decomposition of so few rows is more work.
        solver = "covariance" if len(small) > small[0].size else "gram"
        with ignoring(RankWarning):
            models.append(PCA(most, solver=solver, random_state=random_state).fit(small))
    return tuple(models)


def unlikeness(models: tuple[PCA, ...], pictures: npt.NDArray[Any]) -> FloatArray:
    """Return the distance of pictures from the faces, shape (n,).

    The unexplained share of a sketch's mean square, from 0 to about 1; the geometric mean of both kinds of
    sketches. A uniform picture has no sketch and the distance 1.

    Parameters
    ----------
    models : tuple of PCA
        As :func:`fit_detector` returns.
    pictures : ndarray of shape (n, h, w)

    References
    ----------
    Moghaddam and Pentland (1997), Probabilistic visual learning for object representation, section 3: the
    distance from feature space.
    """
    logs = np.zeros(len(pictures))
    for model, values in zip(models, VALUES, strict=True):
        small = sketches(pictures, values)
        left = np.mean(
            (as_float64(small) - model.inverse_transform(model.transform(small))) ** 2, axis=(1, 2)
        )
        left[~small.any(axis=(1, 2))] = 1.0
        logs += np.log(np.maximum(left, np.finfo(float).tiny))
    return np.asarray(np.exp(logs / len(models)))
