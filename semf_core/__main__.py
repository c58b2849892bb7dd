"""python -m semf_core"""

import sys

from semf_core.cli import main

if __name__ == "__main__":
    sys.exit(main())
