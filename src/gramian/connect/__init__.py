"""scikit-learn's classes and functions, computed by gramian: change one import and keep the rest."""
