"""Ours and the peers' estimators as contenders, each under the settings in its name."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import references
import sklearn.decomposition as peers
from harness.rows import Contender, Outcome
from sklearn.preprocessing import StandardScaler

import gramian


@dataclass(frozen=True)
class NewRows:
    """Rows to fit and rows to map."""

    fitted: Any
    new: Any


@dataclass(frozen=True)
class Fitted:
    """A fitted model and the rows it is to map."""

    model: Any
    new: Any


def our_pca(name: str = "gramian.PCA", **settings: Any) -> Contender:
    def run(X: Any) -> Any:
        return gramian.PCA(random_state=0, **settings).fit(X)

    return Contender(name, run, _pca_outcome, ours=True)


def as_accurate_as(peer: Contender, **settings: Any) -> Contender:
    """Our PCA with ``tol`` equal to the residual that a peer leaves; finding that is not timed."""

    def prepare(X: Any) -> tuple[Any, float]:
        result = peer.outcome(X, peer.run(X))
        return X, references.pca_reference(X).residual(result.values, result.vectors)

    def run(state: tuple[Any, float]) -> Any:
        X, tol = state
        return gramian.PCA(random_state=0, tol=tol, **settings).fit(X)

    def outcome(state: tuple[Any, float], model: Any) -> Outcome:
        result = _pca_outcome(state[0], model)
        return replace(result, note=f"tol {state[1]:.1e}, {result.note}")

    return Contender("gramian.PCA tol of the peer", run, outcome, prepare, ours=True)


def peer_pca(name: str, **settings: Any) -> Contender:
    def run(X: Any) -> Any:
        return peers.PCA(random_state=0, **settings).fit(X)

    return Contender(f"PCA {name}", run, _pca_outcome)


def standardized_peer_pca(name: str, **settings: Any) -> Contender:
    """Scikit-learn's two steps; its deviations divide by n, ours by n - 1."""

    def run(X: Any) -> Any:
        return peers.PCA(random_state=0, **settings).fit(StandardScaler().fit_transform(X))

    def outcome(X: Any, model: Any) -> Outcome:
        result = _pca_outcome(X, model)
        assert result.values is not None
        return replace(result, values=result.values * (len(X) - 1) / len(X))

    return Contender(f"StandardScaler + PCA {name}", run, outcome)


def intel_pca(name: str, **settings: Any) -> Contender:
    """Intel's Extension for scikit-learn, without patching scikit-learn."""

    def run(X: Any) -> Any:
        from sklearnex.decomposition import PCA

        return PCA(random_state=0, **settings).fit(X)

    return Contender(f"Intel PCA {name}", run, _pca_outcome, requires="sklearnex")


def fbpca_pca(k: int) -> Contender:
    """Randomized PCA of fbpca with its defaults: two iterations, two more columns."""

    def run(X: Any) -> Any:
        import fbpca

        np.random.seed(0)  # which fbpca draws from
        return fbpca.pca(X, k, raw=False)[1:]

    return Contender("fbpca", run, _singular_outcome, requires="fbpca")


def torch_pca(k: int, niter: int) -> Contender:
    """PyTorch's randomized PCA with ten more columns; converting to and from NumPy copies nothing."""

    def run(X: Any) -> Any:
        import torch

        torch.manual_seed(0)
        _, s, V = torch.pca_lowrank(torch.from_numpy(X), q=k + 10, niter=niter)
        return s[:k].numpy(), V[:, :k].T.numpy()

    return Contender(f"torch.pca_lowrank niter={niter}", run, _singular_outcome, requires="torch")


def _singular_outcome(X: Any, result: Any) -> Outcome:
    s, vectors = result
    return Outcome(values=np.asarray(s, dtype=np.float64) ** 2 / (len(X) - 1), vectors=vectors)


def in_batches(name: str, *, n_components: int, batch: int) -> Contender:
    """Ours or scikit-learn's estimator by ``partial_fit``, and what it says in the end."""
    ours = name.startswith("gramian")

    def run(X: Any) -> Any:
        model = gramian.PCA(n_components) if ours else peers.IncrementalPCA(n_components)
        for start in range(0, len(X), batch):
            model.partial_fit(X[start : start + batch])
        return model.components_, model

    def outcome(X: Any, result: Any) -> Outcome:
        return _pca_outcome(X, result[1])

    return Contender(name, run, outcome, ours=ours)


def our_kernel_pca(name: str = "gramian.KernelPCA", **settings: Any) -> Contender:
    def run(X: Any) -> Any:
        return gramian.KernelPCA(kernel="rbf", random_state=0, **settings).fit(X)

    return Contender(name, run, _kernel_outcome, ours=True)


def peer_kernel_pca(name: str, **settings: Any) -> Contender:
    def run(X: Any) -> Any:
        return peers.KernelPCA(kernel="rbf", random_state=0, **settings).fit(X)

    return Contender(f"KernelPCA {name}", run, _kernel_outcome)


def transforming(contender: Contender) -> Contender:
    """The same estimator, fitted beforehand and timed at mapping new rows."""

    def prepare(data: NewRows) -> Fitted:
        return Fitted(contender.run(data.fitted), data.new)

    def run(state: Fitted) -> Any:
        return state.model.transform(state.new)

    def outcome(state: Fitted, scores: Any) -> Outcome:
        return replace(contender.outcome(None, state.model), scores=scores, predicted=None)

    return replace(contender, run=run, prepare=prepare, outcome=outcome)


def _pca_outcome(state: Any, model: Any) -> Outcome:
    return Outcome(
        values=np.asarray(model.explained_variance_, dtype=np.float64),
        vectors=model.components_,
        certificate=_certificate(model),
        note=_route(model),
        predicted=_predicted(model),
    )


def _kernel_outcome(state: Any, model: Any) -> Outcome:
    return Outcome(
        values=np.asarray(model.eigenvalues_, dtype=np.float64),
        vectors=model.eigenvectors_,
        certificate=_certificate(model),
        note=_route(model),
        predicted=_predicted(model),
    )


def _certificate(model: Any) -> bool | None:
    certificate = getattr(model, "certificate_", None)
    return None if certificate is None else bool(certificate.ok)


def _predicted(model: Any) -> float | None:
    """Seconds that plans said of every route that was run."""
    attempts = getattr(model, "attempts_", ())
    return sum(attempt.plan.seconds for attempt in attempts) if attempts else None


def _route(model: Any) -> str:
    """Which way ours went; peers go the way their settings say."""
    spectrum = getattr(model, "spectrum_", None)
    if spectrum is None:
        return ""
    plan = model.plan_
    passes = f", {spectrum.passes} passes" if spectrum.passes else ""
    note = f", {spectrum.note}" if spectrum.note else ""
    return f"{plan.solver} on the {plan.matrix} in {plan.arithmetic}{passes}{note}"
