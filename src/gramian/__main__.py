"""``python -m gramian`` is the command ``gramian``."""

import sys

from gramian.cli import main

sys.exit(main())
