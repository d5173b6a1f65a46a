"""Faces and things of any number and size: ``from drawn import drawn_faces, drawn_others``."""

import importlib.util
from pathlib import Path

SCRIPT = Path(__file__).parents[1] / "benchmarks" / "example_data.py"
spec = importlib.util.spec_from_file_location("example_data", SCRIPT)
module = importlib.util.module_from_spec(spec)
spec.loader.exec_module(module)
drawn_faces, drawn_others = module.drawn_faces, module.drawn_others
