"""Imports scikit-learn lightly; packages that use it import this module first."""

from gramian.light_import import lightly

lightly("sklearn.base")
