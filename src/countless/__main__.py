"""`python -m countless`."""

import sys

from countless.cli.main import main

sys.exit(main())
