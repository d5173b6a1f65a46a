"""Faces and things of any number and size: ``from drawn import drawn_faces, drawn_others``."""

from helpers import script

module = script("benchmarks/example_data.py")
drawn_faces, drawn_others = module.drawn_faces, module.drawn_others
