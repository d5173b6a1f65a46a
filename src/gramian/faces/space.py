"""The space of faces: what is learned from pictures, and where a picture lies in it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator
from sklearn.utils.validation import check_is_fitted

from gramian.arrays import as_float64
from gramian.checks import check_choice, check_integer, counted, slices
from gramian.errors import DataError, ParameterError
from gramian.estimators.fitted import InNotebooks, parameter_at_fit, remember_parameters
from gramian.estimators.inputs import generators
from gramian.estimators.kernel_pca import KernelPCA
from gramian.estimators.pca import PCA
from gramian.estimators.saving import Saved
from gramian.faces.detector import fit_detector, folds, keeping, unlikeness
from gramian.faces.light import LIGHTS, Relit, relight
from gramian.faces.pictures import Faces, Pictures, as_pictures
from gramian.faces.shifts import shift_covariance, shift_pixels, with_moved
from gramian.records import Certificate, FloatArray, ModelKind, Plan
from gramian.store import Array, Given, Shown, Sizes


def decomposition(n_components: Any, kernel: Any, **shared: Any) -> PCA | KernelPCA:
    """Return the estimator that finds components, not yet fitted.

    Parameters
    ----------
    n_components, kernel
        As in :class:`gramian.faces.FaceSpace`.
    **shared
        Further parameters of both estimators.
    """
    if kernel is None:
        return PCA(n_components, **shared)
    gamma = "median" if kernel in ("rbf", "laplacian") else None
    return KernelPCA(n_components, kernel=kernel, gamma=gamma, **shared)


def as_counts(n_components: Any, most: int | None = None) -> list[int]:
    """Return numbers of components as a list; one number is a list of one.

    Raises
    ------
    ParameterError
        For none, and for numbers outside of what they may be.

    Examples
    --------
    >>> as_counts((1, 5), 10), as_counts(3, 10)
    ([1, 5], [3])
    """
    given = [n_components] if np.ndim(n_components) == 0 else list(n_components)
    if not given:
        raise ParameterError("n_components is empty. Give at least one number of components.")
    return [check_integer("n_components", count, 1, most) for count in given]


def relative_errors(model: Any, relit: Relit, mean: Relit, counts: Sequence[int]) -> FloatArray:
    """Return ``||x - x~|| / ||x - mean||``, shape (n, len(counts)); 0 for a picture that is the mean.

    Parameters
    ----------
    model : PCA or KernelPCA
        Fitted on relit pictures.
    relit : ndarray of shape (n, height, width)
    mean : ndarray of shape (height, width)
    counts : sequence of int
        Numbers of components to rebuild from.
    """
    sizes = _norms(relit - mean)
    found = np.stack([_norms(left) for left in _left(model, relit, mean, counts)], axis=1)
    known = sizes[:, None] > 0
    return np.asarray(np.divide(found, sizes[:, None], out=np.zeros_like(found), where=known))


def _left(model: Any, relit: Relit, mean: Relit, counts: Sequence[int]) -> Iterator[Relit]:
    """Yield x - x~ for each number of components; a PCA takes off component after component."""
    scores = np.asarray(model.transform(relit), dtype=np.float32)
    if not isinstance(model, PCA):
        for count in counts:
            scores_kept = np.where(np.arange(scores.shape[1]) < count, scores, 0)
            yield relit - np.asarray(model.inverse_transform(scores_kept), dtype=np.float32)
        return
    components, done = np.asarray(model.components_, dtype=np.float32), 0
    left = (relit - mean).reshape(len(relit), -1)
    by_count = {}
    for count in sorted(set(counts)):
        left = left - scores[:, done:count] @ components[done:count]
        by_count[count], done = left, count
    yield from (by_count[count] for count in counts)


def _norms(pictures: Any) -> FloatArray:
    flat = as_float64(pictures).reshape(len(pictures), -1)
    return np.asarray(np.linalg.norm(flat, axis=1))


KEEP = 0.99
BLOCK_BYTES = 64 << 20


@dataclass(eq=False, repr=False)
class FaceSpace(Saved, InNotebooks, BaseEstimator):
    """Eigenfaces: principal components of pictures of faces.

    Parameters
    ----------
    n_components : int or float, default=0.95
        Number of components, or an explained variance ratio to reach.
    kernel : str, Kernel or None, default=None
        None is PCA; otherwise kernel PCA with this kernel, as in :class:`gramian.KernelPCA`. The width of
        "rbf" and "laplacian" is the median distance between pictures.
    light : {"none", "log", "equalise", "dog"}, default="none"
        Treatment against differences of light, see :func:`relight`.
    shift : float, default=0.0
        Fit also on four copies of each picture, moved right, left, down and up by this share of its width. A
        recogniser then knows what bad alignment does, at five times the work of fitting.
    random_state : int, RandomState, Generator or None, default=0
        Start of the iteration, and which pictures are held out together.
    memory_limit : int, str or None, default=None
        Working memory beside the pictures and the results.

    Attributes
    ----------
    decomposition_ : PCA or KernelPCA
        Fitted on the relit pictures.
    picture_shape_ : (height, width)
    n_components_, n_pictures_, n_people_ : int
        ``n_people_`` is 0 where it is not known who is on the pictures.
    eigenvalues_ : ndarray of shape (k,), float64
        Variances of the scores, descending.
    mean_face_ : ndarray of shape (height, width), float32
        Mean of the relit pictures.
    shift_covariance_ : ndarray of shape (k, k), float64, or None
        How scores change when a fitted picture is moved, for a recogniser; None for ``shift=0``.
    detector_ : tuple of PCA
        What :meth:`face_score` is measured by: components of small pictures of edges, at one contrast.
    face_scores_ : ndarray, float64
        Scores of fitted pictures, each by a detector that did not see it, nor another picture of the same
        person, ascending.
    face_threshold_ : float
        The score that ``face_keep_`` of them are at or below: what is above it is not called a face.
    face_keep_ : float
        0.99.
    fingerprint_ : str
        SHA-256 of everything that the scores of a picture depend on.
    notes_ : tuple of str
        What was decided by itself.

    References
    ----------
    Turk and Pentland (1991), Eigenfaces for recognition. Sirovich and Kirby (1987), Low-dimensional procedure
    for the characterization of human faces.

    Examples
    --------
    >>> from gramian.faces import FaceSpace, drawn_faces
    >>> faces = drawn_faces(8, 4, size=(24, 28), seed=0)
    >>> space = FaceSpace(10).fit(faces)
    >>> space.transform(faces).shape, space.n_people_
    ((32, 10), 8)
    >>> errors = space.errors(faces, [1, 5, 10])
    >>> bool((errors[:, 0] >= errors[:, 1]).all() and (errors[:, 1] >= errors[:, 2]).all())
    True
    """

    contents: ClassVar = {
        "decomposition_": Shown((PCA, KernelPCA), {"n_components_": "k"}),
        "detector_": tuple[PCA, ...],
        "picture_shape_": Sizes("height width"),
        "n_components_": Sizes("k"),
        "n_pictures_": int,
        "n_people_": int,
        "eigenvalues_": Array("k"),
        "mean_face_": Array("height width"),
        "shift_covariance_?": Given(Array("k k")),
        "face_scores_": Array("_"),
        "face_threshold_": float,
        "face_keep_": float,
        "_fit_parameters?": dict,
        "fingerprint_": str,
        "notes_": tuple[str, ...],
    }
    model_kind: ClassVar = ModelKind.FACES
    private: ClassVar[bool] = True  # its file shows the pictures that it was fitted on

    n_components: int | float = 0.95
    _: KW_ONLY
    kernel: Any = None
    light: str = "none"
    shift: float = 0.0
    random_state: Any = 0
    memory_limit: int | str | None = None

    # ------------------------------------------------------------------ fit

    def fit(self, faces: Any, people: Any = None) -> Self:
        """Learn components from pictures of faces, and how far new pictures of faces are from them.

        Parameters
        ----------
        faces : Faces or array of shape (n, height, width)
        people : sequence of n names, optional
            Who is on each, by default what ``Faces`` say. They are counted, and not kept.

        Raises
        ------
        DataError
            For fewer than two pictures, pictures that are all the same, or another number of people than
            pictures.
        ParameterError
            A parameter outside of what it may be.
        """
        pictures, pixels = self._given(faces)
        if len(pictures) < 2:
            raise DataError(
                f"There is {len(pictures)} picture, and a space of faces needs a minimum of 2. Give more."
            )
        people = _checked_people(faces, people, len(pictures))
        relit = relight(pictures, self.light)
        _check_varied(relit, pictures, self.light)
        self.decomposition_ = self._decomposition().fit(with_moved(relit, pixels))
        self.notes_: tuple[str, ...] = ()
        if pixels:
            self.notes_ = (f"fitted also on copies of the pictures moved by {counted(pixels, 'pixel')}",)
        self._remember(relit, people)
        self.shift_covariance_ = shift_covariance(self.decomposition_.transform, relit, pixels)
        self._calibrate(pictures, people)
        return self

    def plan(self, faces: Any) -> Plan:
        """Return the plan by which ``fit(faces)`` would find components, without doing it.

        How far faces are from the components is found beside it, by a PCA for each of a few parts.
        """
        pictures, pixels = self._given(faces)
        return self._decomposition().plan(with_moved(relight(pictures, self.light), pixels))

    def _given(self, faces: Any) -> tuple[Pictures, int]:
        """Return the pictures, and by how many pixels they are to be moved as well."""
        check_choice("light", self.light, LIGHTS)
        pictures = as_pictures(faces)
        return pictures, shift_pixels(self.shift, pictures.shape[2])

    def _decomposition(self) -> PCA | KernelPCA:
        shared = {"random_state": self.random_state, "memory_limit": self.memory_limit}
        return decomposition(self.n_components, self.kernel, **shared)

    def _remember(self, relit: Relit, people: npt.NDArray[Any] | None) -> None:
        found: Any = self.decomposition_
        remember_parameters(self, "light")
        self.picture_shape_ = (int(relit.shape[1]), int(relit.shape[2]))
        self.n_pictures_ = len(relit)
        self.n_people_ = 0 if people is None else len(np.unique(people))
        self.n_components_ = int(found.n_components_)
        self.eigenvalues_: FloatArray = found.explained_variance_
        mean = found.mean_ if isinstance(found, PCA) else relit.mean(axis=0, dtype=np.float64).ravel()
        self.mean_face_ = np.asarray(mean, dtype=np.float32).reshape(self.picture_shape_)
        self.fingerprint_ = self._fingerprint()

    def _calibrate(self, pictures: Pictures, people: npt.NDArray[Any] | None) -> None:
        """Score every picture by a detector fitted without it and all others of its person."""
        self.detector_ = fit_detector(pictures, self.random_state)
        (rng,) = generators(self.random_state, 1)
        parts, how = folds(len(pictures), people, rng)
        scores = [np.empty(0)]
        for held in parts:
            rest = np.ones(len(pictures), dtype=bool)
            rest[held] = False
            detector = fit_detector(pictures[rest], self.random_state)
            scores.append(unlikeness(detector, pictures[held]))
        self.face_keep_ = KEEP
        self.face_scores_ = np.sort(np.concatenate(scores))
        self.face_threshold_ = keeping(self.face_scores_, KEEP)
        self.notes_ = (*self.notes_, how)

    def _fingerprint(self) -> str:
        found = self.decomposition_
        if isinstance(found, PCA):
            parts = [found.components_, found.mean_]
        else:
            parts = [found.X_fit_, found.projection_coef_]
        digest = hashlib.sha256(repr((self.light, self.picture_shape_, repr(self.kernel))).encode())
        for part in parts:
            digest.update(np.ascontiguousarray(part).tobytes())
        return digest.hexdigest()

    # ------------------------------------------------------------ transform

    def transform(self, faces: Any) -> Relit:
        """Return the scores of pictures, shape (n, k), float32.

        Parameters
        ----------
        faces : Faces or array of shape (n, height, width)
            Of the model's size.
        """
        scores = self._of_relit(faces, lambda relit: self.decomposition_.transform(relit))
        return np.asarray(scores, dtype=np.float32)

    def _of_relit(self, faces: Any, work: Callable[[Relit], Any]) -> Any:
        """Apply a function to relit pictures block by block, so that one block at a time is relit."""
        light = parameter_at_fit(self, "light")
        return _by_blocks(lambda block: work(relight(block, light)), self._checked(faces))

    def _checked(self, faces: Any) -> Pictures:
        check_is_fitted(self)
        pictures = as_pictures(faces)
        if pictures.shape[1:] != self.picture_shape_:
            height, width = self.picture_shape_
            raise DataError(
                f"The pictures are {pictures.shape[2]}x{pictures.shape[1]} (width x height), and the "
                f'model is of pictures {width}x{height}. Read them with size="{width}x{height}".'
            )
        return pictures

    def reconstruct(self, faces: Any, n_components: int | None = None) -> Relit:
        """Return pictures rebuilt from their scores on the first components.

        Parameters
        ----------
        faces : Faces or array of shape (n, height, width)
        n_components : int, optional
            How many; by default all.

        Returns
        -------
        ndarray of shape (n, height, width), float32
            In relit units: grey values for ``light="none"``. With a kernel pre-images.
        """
        count = self._count(n_components)
        scores = self.transform(faces)
        scores[:, count:] = 0
        return np.asarray(self.decomposition_.inverse_transform(scores), dtype=np.float32)

    def errors(self, faces: Any, n_components: int | Sequence[int]) -> FloatArray:
        """Return the relative errors ``||x - x~|| / ||x - mean||`` of reconstructions.

        Parameters
        ----------
        faces : Faces or array of shape (n, height, width)
        n_components : int or sequence of int
            Numbers of components to rebuild from.

        Returns
        -------
        ndarray of shape (n, len(n_components)), float64; (n, 1) for one number
            0 for a picture that is the mean.
        """
        check_is_fitted(self)
        counts = as_counts(n_components, self.n_components_)
        found: FloatArray = self._of_relit(
            faces, lambda relit: relative_errors(self.decomposition_, relit, self.mean_face_, counts)
        )
        return found

    def _count(self, wanted: int | None) -> int:
        check_is_fitted(self)
        return self.n_components_ if wanted is None else as_counts([wanted], self.n_components_)[0]

    def face_score(self, faces: Any) -> FloatArray:
        """Return how unlike a face pictures are, shape (n,): above ``face_threshold_`` it is not called one.

        The share of a small picture of edges that 75 components of such pictures leave over, which neither
        brightness nor contrast changes. It does not depend on ``n_components``, ``kernel`` and ``light``:
        relative reconstruction errors do not tell faces from other things.

        Parameters
        ----------
        faces : Faces or array of shape (n, height, width)
        """
        pictures = self._checked(faces)
        return np.asarray(_by_blocks(lambda block: unlikeness(self.detector_, block), pictures))

    # ------------------------------------------------ what the model says

    def component_pictures(self, count: int | None = None) -> FloatArray:
        """Return components as pictures, shape (count, height, width).

        With a kernel, in whose space directions are no pictures, what a standard deviation along each
        component changes in the pre-image of the mean.
        """
        check_is_fitted(self)
        count = self._count(count)
        found = self.decomposition_
        if isinstance(found, PCA):
            return as_float64(found.components_[:count]).reshape(-1, *self.picture_shape_)
        steps = np.zeros((count + 1, self.n_components_))
        steps[range(count), range(count)] = np.sqrt(self.eigenvalues_[:count])
        pictures = as_float64(found.inverse_transform(steps))
        return np.asarray(pictures[:-1] - pictures[-1]).reshape(-1, *self.picture_shape_)

    def get_feature_names_out(self, input_features: Any = None) -> Any:
        """Return the names of the scores: PC1, PC2, ..."""
        return self._found.get_feature_names_out()

    @property
    def _found(self) -> Any:
        check_is_fitted(self)
        return self.decomposition_

    @property
    def explained_variance_(self) -> FloatArray:
        """The eigenvalues, under PCA's name for them."""
        check_is_fitted(self)
        return self.eigenvalues_

    @property
    def explained_variance_ratio_(self) -> FloatArray | None:
        """Ratios of the variances to their total; None under a kernel that is not proven valid."""
        shares: FloatArray | None = self._found.explained_variance_ratio_
        return shares

    @property
    def rank_(self) -> int:
        """Number of components above the rank tolerance."""
        return int(self._found.rank_)

    @property
    def n_samples_(self) -> int:
        """Number of pictures, under PCA's name."""
        check_is_fitted(self)
        return self.n_pictures_

    @property
    def n_features_in_(self) -> int:
        """Number of pixels."""
        check_is_fitted(self)
        height, width = self.picture_shape_
        return height * width

    @property
    def plan_(self) -> Plan:
        """How the components were computed and why."""
        plan: Plan = self._found.plan_
        return plan

    @property
    def certificate_(self) -> Certificate:
        """What is guaranteed about the components."""
        certificate: Certificate = self._found.certificate_
        return certificate


def _checked_people(faces: Any, people: Any, n: int) -> npt.NDArray[Any] | None:
    if people is None and isinstance(faces, Faces):
        people = faces.people
    if people is None:
        return None
    names = np.array(list(people), dtype=object)
    if names.shape != (n,):
        raise DataError(f"people has the shape {names.shape} for {n} pictures. Give one name for each.")
    return names.astype(str)


def _check_varied(relit: Relit, pictures: Pictures, light: str) -> None:
    if (relit != relit[:1]).any():
        return
    same = "the same" if (pictures == pictures[:1]).all() else f"the same after light={light!r}"
    raise DataError(
        f"All {len(relit)} pictures are {same}, so there is nothing to learn. Give different ones."
    )


def _by_blocks(work: Callable[[Pictures], Any], pictures: Pictures) -> Any:
    """Apply a function to one block of pictures at a time."""
    step = max(1, BLOCK_BYTES // (4 * int(np.prod(pictures.shape[1:]))))
    return np.concatenate([work(pictures[some]) for some in slices(len(pictures), step) or [slice(0)]])
