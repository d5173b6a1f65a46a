"""``python -m gramian`` is the command ``gramian``."""

import sys

from gramian.app.cli import main

sys.exit(main())
