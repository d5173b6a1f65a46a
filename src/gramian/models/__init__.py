"""What fitted models share: their numbers, saving, checks of their input."""
