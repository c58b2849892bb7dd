"""Planted factorizations: random factors with a known structure, so that recovery can be counted."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from semf_core.common.parameters import InvalidInput, param
from semf_core.datasets.base import DATASETS, Array, Dataset, DatasetSource

NOISE_HELP = "standard deviation of Gaussian noise, which makes some entries negative"
SEED: dict[str, Any] = {"low": 0, "high": 2**32 - 1, "help": "seed of every random number"}


def unit_columns(A: Array) -> Array:
    """Every column divided by its ℓ2 norm (17); a zero column stays zero."""
    norms = np.linalg.norm(A, axis=0)
    return A / np.where(norms > 0, norms, 1)


def random_supports(rows: int, columns: int, k: int, rng: np.random.Generator) -> Array:
    """k different rows for every column, uniformly at random (k×columns)."""
    return np.argpartition(rng.random((rows, columns)), k - 1, axis=0)[:k]


def noise_at(clean: Array, snr_db: float, rng: np.random.Generator) -> Array:
    """White Gaussian noise E scaled so that 20 log10(‖clean‖_F / ‖E‖_F) is exactly snr_db."""
    noise = rng.standard_normal(clean.shape)
    return noise * (np.linalg.norm(clean) / np.linalg.norm(noise) * 10 ** (-snr_db / 20))


class _Codes(DatasetSource):
    """M = XY with unit columns in X and k nonzeros in every column of Y."""

    def _check(self, atoms: int, nonzeros: int) -> None:
        if nonzeros > atoms:
            raise InvalidInput(
                "nonzeros", f"a sample cannot use {nonzeros} of {atoms} atoms", "lower it or raise atoms", whole=True
            )
        self.check_entries()


def code_arrays(rows: int, atoms: int, samples: int) -> dict[str, tuple[int, int]]:
    """M or Y, whichever is larger, and X."""
    return {"samples": (max(rows, atoms), samples), "atoms": (rows, atoms)}


@DATASETS.register
class SparseCodes(_Codes):
    """§4.1 of SeMF: X randn with unit columns, Y with k randn nonzeros at random places, M = XY exactly."""

    name = "sparse_codes"
    title = "Sparse codes"
    summary = "An exact product of a random dictionary and sparse codes: does the algorithm find an exact factorization?"
    example: ClassVar[dict[str, Any]] = {"rows": 8, "atoms": 10, "samples": 30, "nonzeros": 2}

    rows: int = param("integer", 40, low=1, high=100_000, symbol="m", help="length of a sample")
    atoms: int = param("integer", 60, low=1, high=100_000, symbol="p", help="columns of the true X")
    samples: int = param("integer", 1500, low=1, high=10_000_000, symbol="n", help="columns of M")
    nonzeros: int = param("integer", 3, low=1, high=100_000, symbol="k", help="atoms that each sample uses")
    seed: int = param("integer", 0, **SEED)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check(self.atoms, self.nonzeros)

    def arrays(self) -> dict[str, tuple[int, int]]:
        return code_arrays(self.rows, self.atoms, self.samples)

    def load(self) -> Dataset:
        rng = np.random.default_rng(self.seed)
        X = unit_columns(rng.standard_normal((self.rows, self.atoms)))
        Y = np.zeros((self.atoms, self.samples))
        support = random_supports(self.atoms, self.samples, self.nonzeros, rng)
        Y[support, np.arange(self.samples)] = rng.standard_normal(support.shape)
        return Dataset(X @ Y, title=self.title, parts=X, activations=Y)


@DATASETS.register
class NoisyDictionary(_Codes):
    """§4.2 of SeMF, after K-SVD: uniform dictionary with unit columns, k uniform coefficients, white noise.

    The paper says "uniformly distributed" without an interval. On (0, 1) any two atoms have a cosine
    near 3/4, which is another task; the published K-SVD code draws entries of both signs (normal ones).
    So `signed` (the default) draws D and the coefficients from (−1, 1), otherwise from (0, 1).
    """

    name = "dictionary"
    title = "Noisy dictionary"
    summary = "Signals made of three atoms of a random 20 × 50 dictionary plus noise: how many atoms are recovered?"
    example: ClassVar[dict[str, Any]] = {"rows": 8, "atoms": 10, "samples": 30, "nonzeros": 2}

    rows: int = param("integer", 20, low=1, high=100_000, symbol="m", help="length of a signal")
    atoms: int = param("integer", 50, low=1, high=100_000, symbol="p", help="columns of the generating dictionary")
    samples: int = param("integer", 500, low=1, high=10_000_000, symbol="n", help="number of signals")
    nonzeros: int = param("integer", 3, low=1, high=100_000, symbol="k", help="atoms that each signal uses")
    snr_db: float | None = param("number", 20.0, low=-50, high=300, optional=True, help="signal-to-noise ratio; none: no noise")
    signed: bool = param("boolean", True, help="entries uniform on (−1, 1), otherwise on (0, 1)")
    seed: int = param("integer", 0, **SEED)

    def __post_init__(self) -> None:
        super().__post_init__()
        self._check(self.atoms, self.nonzeros)

    def arrays(self) -> dict[str, tuple[int, int]]:
        return code_arrays(self.rows, self.atoms, self.samples)

    def load(self) -> Dataset:
        rng = np.random.default_rng(self.seed)
        low = -1.0 if self.signed else 0.0
        D = unit_columns(rng.uniform(low, 1, (self.rows, self.atoms)))
        codes = np.zeros((self.atoms, self.samples))
        support = random_supports(self.atoms, self.samples, self.nonzeros, rng)
        codes[support, np.arange(self.samples)] = rng.uniform(low, 1, support.shape)
        clean = D @ codes
        data = clean if self.snr_db is None else clean + noise_at(clean, self.snr_db, rng)
        return Dataset(data, title=self.title, parts=D, activations=codes)


@DATASETS.register
class Genes(DatasetSource):
    """§3.3 of SeMF, the fictitious DNA: one mutation of every gene in each sample, (18)-(20).

    A building element is nonnegative with unit norm and has the stated density of nonzeros;
    a sample adds one element of each gene with weights uniform on (0.5, 1.5).
    """

    name = "dna"
    title = "Genes and mutations"
    summary = "Each sample holds one mutation of every gene: can the mutations be found and grouped by gene?"
    example: ClassVar[dict[str, Any]] = {"genes": 3, "mutations": 2, "length": 12, "samples": 20}

    genes: int = param("integer", 4, low=1, high=1000, symbol="G", help="number of groups")
    mutations: int = param("integer", 5, low=1, high=1000, help="building elements of each gene")
    length: int = param("integer", 60, low=1, high=100_000, symbol="m", help="length of a sample")
    samples: int = param("integer", 400, low=1, high=10_000_000, symbol="n", help="number of samples")
    density: float = param("number", 0.3, low=0, high=1, open_low=True, help="fraction of nonzeros in an element")
    noise: float = param("number", 0.0, low=0, high=10, symbol=r"\sigma", help=NOISE_HELP)
    seed: int = param("integer", 0, **SEED)

    def __post_init__(self) -> None:
        super().__post_init__()
        self.check_entries()

    def arrays(self) -> dict[str, tuple[int, int]]:
        elements = self.genes * self.mutations
        return {"samples": (max(self.length, elements), self.samples), "mutations": (self.length, elements)}

    def load(self) -> Dataset:
        rng = np.random.default_rng(self.seed)
        elements = self.genes * self.mutations
        support = random_supports(self.length, elements, max(1, round(self.density * self.length)), rng)
        X = np.zeros((self.length, elements))
        X[support, np.arange(elements)] = rng.uniform(0.1, 1, support.shape)
        X = unit_columns(X)
        first = self.mutations * np.arange(self.genes)[:, None]
        chosen = first + rng.integers(0, self.mutations, (self.genes, self.samples))
        Y = np.zeros((elements, self.samples))
        Y[chosen, np.arange(self.samples)] = rng.uniform(0.5, 1.5, chosen.shape)
        data = X @ Y
        if self.noise:
            data += self.noise * rng.standard_normal(data.shape)
        groups = tuple(tuple(range(start, start + self.mutations)) for start in first.ravel())
        return Dataset(data, title=self.title, parts=X, activations=Y, groups=groups)


@DATASETS.register
class Paatero(DatasetSource):
    """Figure 1 of the reverse-convex paper, after Paatero: V = WH, Gaussian columns in W, exponential rows in H.

    The caption gives the kinds of curves, the number of four (§6.3) and the noise N(0, 0.1), read as
    a standard deviation; centres, width and rates are chosen here: W_k(x) = exp(−(x − c_k)² / 2w²)
    with centres c_k evenly spaced on [0, 1], H_k(t) = exp(−λ_k t) with λ_k = 3^k on [0, 1] for even k
    and the same curve run backwards for odd k. Noisy entries below zero become zero because V ≥ 0.
    """

    name = "paatero"
    title = "Bell curves"
    summary = "Four bell curves multiplied by four exponentials plus noise: are they found, and does a bound on sparseness help?"
    example: ClassVar[dict[str, Any]] = {"rows": 20, "samples": 15}

    rows: int = param("integer", 100, low=4, high=10_000, symbol="m", help="points at which a bell curve is sampled")
    samples: int = param("integer", 100, low=4, high=10_000, symbol="n", help="points at which an exponential is sampled")
    factors: int = param("integer", 4, low=1, high=8, symbol="r", help="number of products")
    width: float = param("number", 0.06, low=0.01, high=0.5, symbol="w", help="standard deviation of a bell curve")
    noise: float = param("number", 0.1, low=0, high=10, symbol=r"\sigma", help="standard deviation of Gaussian noise")
    seed: int = param("integer", 0, **SEED)

    def arrays(self) -> dict[str, tuple[int, int]]:
        return {"samples": (self.rows, self.samples)}

    def load(self) -> Dataset:
        rng = np.random.default_rng(self.seed)
        x, t = np.linspace(0, 1, self.rows)[:, None], np.linspace(0, 1, self.samples)
        index = np.arange(self.factors)
        W = np.exp(-0.5 * ((x - (index + 0.5) / self.factors) / self.width) ** 2)
        H = np.exp(-(3.0 ** index[:, None]) * t)
        H[1::2] = H[1::2, ::-1]
        data = W @ H
        if self.noise:
            data = np.maximum(data + self.noise * rng.standard_normal(data.shape), 0)
        return Dataset(data, title=self.title, parts=W, activations=H)


@DATASETS.register
class HiddenFactors(DatasetSource):
    """§6.3 of the reverse-convex paper: v₁ ~ N(0, 290), v₂ ~ N(0, 300), v₃ = −0.3 v₁ + 0.925 v₂ + N(0, 1).

    They are seen 4, 4 and 2 times, each time with noise of its own; the parts are the three blocks of rows.
    """

    name = "hidden_factors"
    title = "Hidden factors"
    summary = "Ten variables that repeat three hidden ones, of which two determine the third: are the three blocks told apart?"
    example: ClassVar[dict[str, Any]] = {"samples": 30}

    samples: int = param("integer", 100, low=3, high=1_000_000, symbol="n", help="number of observations")
    noise: float = param("number", 1.0, low=0, high=100, symbol=r"\sigma", help="standard deviation of Gaussian noise")
    seed: int = param("integer", 0, **SEED)

    def arrays(self) -> dict[str, tuple[int, int]]:
        return {"samples": (10, self.samples)}

    def load(self) -> Dataset:
        rng = np.random.default_rng(self.seed)
        one, two = rng.normal(0, np.sqrt([[290], [300]]), (2, self.samples))
        hidden = np.stack([one, two, -0.3 * one + 0.925 * two + rng.normal(size=self.samples)])
        blocks = np.repeat(np.eye(3), [4, 4, 2], axis=0)
        data = blocks @ hidden + self.noise * rng.normal(size=(10, self.samples))
        return Dataset(data, title=self.title, parts=blocks, activations=hidden)


@DATASETS.register
class Rectangle(DatasetSource):
    """The toy of CSMF's Figure 1: a rectangle that appears whole and without single pieces.

    With additive codes alone the basis must be the pieces, and the whole rectangle needs all of them; where codes may
    subtract, the whole rectangle with all pieces but one is a basis as small, and the most frequent sample needs one
    entry. The paper's text describes the six pictures without giving their pixels: here the rectangle is cut into
    three pieces, and the six samples are the whole, the whole without each piece, and two single pieces.
    """

    name = "rectangle"
    title = "Rectangle in pieces"
    reference = "csmf"
    summary = "A rectangle that often appears whole: sparse codes need subtraction, which NMF does not have."
    example: ClassVar[dict[str, Any]] = {"whole": 3}

    whole: int = param("integer", 1, low=1, high=10_000, help="how often the whole rectangle appears")

    def arrays(self) -> dict[str, tuple[int, int]]:
        return {"samples": (64, self.whole + 5)}

    def load(self) -> Dataset:
        picture = np.zeros((8, 8, 3))
        for piece, rows in enumerate((slice(1, 3), slice(3, 5), slice(5, 7))):
            picture[rows, 1:4, piece] = 1
        pieces = picture.reshape(64, 3)
        without = np.array([[0, 1, 1], [1, 0, 1], [1, 1, 0], [1, 0, 0], [0, 1, 0]], dtype=float).T
        codes = np.hstack([np.ones((3, self.whole)), without])
        note = "Drawn from the description of CSMF's Figure 1."
        return Dataset(pieces @ codes, title=self.title, image_shape=(8, 8), parts=pieces, activations=codes, note=note)
