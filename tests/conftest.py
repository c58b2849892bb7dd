"""One BLAS thread in every test process: the matrices here are small, and the cores are shared."""

import os

os.environ.setdefault("OPENBLAS_NUM_THREADS", "1")
