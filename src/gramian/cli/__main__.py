"""``python -m gramian.cli`` is the command ``gramian``."""

import sys

from gramian.cli import main

sys.exit(main())
