"""People as points, for the tests of thresholds."""

import numpy as np


class Nearest:
    """A gallery by the definition: minus the distance to the nearest picture of each person."""

    def __init__(self, vectors, people):
        self.vectors, self.owners, self.people = vectors, people, np.unique(people)

    def similarity(self, vectors):
        apart = np.linalg.norm(np.asarray(vectors)[:, None] - self.vectors[None], axis=2)
        nearest = [apart[:, self.owners == person].min(axis=1) for person in self.people]
        return -np.array(nearest, dtype=np.float32).T


def some_people(n_people, n_pictures, seed=0, d=3):
    rng = np.random.default_rng(seed)
    people = np.repeat(np.arange(n_people), n_pictures)
    return rng.standard_normal((n_people, d))[people] + 0.2 * rng.standard_normal((len(people), d)), people
