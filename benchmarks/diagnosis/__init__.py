"""Tables by which ``gramian.diagnose`` is measured."""
