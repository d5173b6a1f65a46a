"""scikit-learn estimators: they remember what was computed."""
