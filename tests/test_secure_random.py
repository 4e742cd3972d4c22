"""Random numbers where nobody may know the seed: distributions, streams and rejection."""

import ast
import copy
import multiprocessing
import pickle
import re
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from scipy import stats

import skdp
from skdp.support import secure_random
from skdp.support.secure_random import SecureGenerator

RISK = 1e-7  # of a false alarm, of each statistical test
N = 100_000
RNG = SecureGenerator()


def agrees(counts, expected):
    return stats.chisquare(counts, expected).pvalue > RISK


class TestDistributions:
    @pytest.mark.parametrize("width", [2, 3, 7, 64, 65, 100, 255, 256, 257, 1000])
    def test_integers_are_uniform(self, width):
        found = RNG.integers(width, size=N)
        assert agrees(np.bincount(found, minlength=width), np.full(width, N / width))
        alone = [RNG.integers(width) for _ in range(2000)]
        assert set(alone) <= set(range(width))
        if width < 100:
            assert agrees(np.bincount(alone, minlength=width), np.full(width, 2000 / width))

    @pytest.mark.parametrize("width", range(1, 64))
    def test_integers_are_exactly_uniform_over_all_words(self, width, monkeypatch):
        words = iter([bytes(range(256))])
        monkeypatch.setattr(secure_random, "_random_bytes", lambda n: next(words, bytes(n)))
        found = RNG.integers(width, size=256)
        again = 256 - 256 // width * width  # drawn again, as 0
        counts = np.bincount(found, minlength=width)
        counts[0] -= again
        assert np.all(counts == 256 // width)

    def test_integers_take_arrays_negative_bounds_and_wide_ranges(self):
        highs = np.array([1, 5, 2**33, 2**62])
        for _ in range(100):
            found = RNG.integers(highs)
            assert np.all((found >= 0) & (found < highs))
        found = RNG.integers(-(2**62), 2**62, size=N)
        assert stats.kstest(found / 2.0**63 + 0.5, "uniform").pvalue > RISK
        assert isinstance(RNG.integers(2), int)
        for wide in (2**63 + 1, 2**64, 2**64 + 2):
            for size in (None, 3):
                with pytest.raises(ValueError, match="larger than 2"):
                    RNG.integers(wide, size=size)
        assert max(RNG.integers(2**63, size=100)) > 2**56  # by chance 1 − 1e-200
        for wrong in [(0,), (3, 3), (5, 2)]:
            with pytest.raises(ValueError, match="low >= high"):
                RNG.integers(*wrong, size=2)
            with pytest.raises(ValueError, match="low >= high"):
                RNG.integers(*wrong)

    @pytest.mark.parametrize(
        ("sample", "exact"),
        [
            (RNG.random, stats.uniform()),
            (RNG.standard_normal, stats.norm()),
            (RNG.standard_exponential, stats.expon()),
            (lambda n: RNG.uniform(2.0, 5.0, n), stats.uniform(2.0, 3.0)),
            (lambda n: RNG.normal(1.0, 2.0, n), stats.norm(1.0, 2.0)),
            (lambda n: RNG.exponential(3.0, n), stats.expon(scale=3.0)),
            (lambda n: RNG.standard_gamma(2.5, n), stats.gamma(2.5)),
        ],
    )
    def test_continuous_numbers_have_their_distribution(self, sample, exact):
        assert stats.kstest(sample(N), exact.cdf).pvalue > RISK

    @pytest.mark.parametrize(
        ("sample", "exact"),
        [
            (lambda n: RNG.geometric(0.3, n), stats.geom(0.3)),
            (lambda n: RNG.geometric(1.0, n), stats.geom(1.0)),
            (lambda n: [RNG.logseries(0.8) for _ in range(n)], stats.logser(0.8)),
            (lambda n: [RNG.poisson(6.5) for _ in range(n)], stats.poisson(6.5)),
            (lambda n: [RNG.poisson(9.5) for _ in range(n)], stats.poisson(9.5)),
            (lambda n: [RNG.poisson(0.0) for _ in range(9)] * (n // 9 + 1), stats.poisson(0.0)),
            (lambda n: RNG.choice(3, n, p=np.array([0.2, 0.5, 0.3])), stats.rv_discrete(
                values=([0, 1, 2], [0.2, 0.5, 0.3]))),
        ],
    )  # fmt: skip
    def test_counts_have_their_distribution(self, sample, exact):
        n = 20_000
        found = np.asarray(sample(n))[:n]
        values = np.arange(26)
        expected = exact.pmf(values) * n
        kept = expected > 5.0
        rest = n - expected[kept].sum()
        counts = (found == values[kept, None]).sum(axis=1)
        if rest > 5.0:
            counts, expected = np.append(counts, n - counts.sum()), np.append(expected[kept], rest)
            assert agrees(counts, expected)
        else:  # one value, or a rest with less than five by chance
            assert counts.sum() >= n - 40
            assert len(counts) == 1 or agrees(counts, expected[kept] * counts.sum() / (n - rest))

    def test_permutations_are_uniform(self):
        found = [tuple(RNG.permutation(4)) for _ in range(24_000)]
        _, counts = np.unique(found, axis=0, return_counts=True)
        assert len(counts) == 24
        assert agrees(counts, np.full(24, 1000.0))
        assert set(RNG.permutation(np.array([3, 5, 9]))) == {3, 5, 9}

    @pytest.mark.parametrize("byte", [0, 255])
    def test_extreme_bits_give_finite_numbers(self, byte, monkeypatch):
        monkeypatch.setattr(secure_random, "_random_bytes", lambda n: bytes([byte] * n))
        rng = SecureGenerator()
        for name in ("random", "standard_normal", "standard_exponential"):
            for size in (3, 3000):
                assert np.isfinite(getattr(rng, name)(size)).all()
        assert rng.geometric(1e-300, 2).max() < 2**62
        assert rng.logseries(0.5) >= 1
        assert rng.poisson(1e-300) <= 1
        assert 0 <= rng.poisson(1e6) < 1e6 + 9e3

    def test_many_bytes_take_several_requests(self, monkeypatch):
        asked = []
        monkeypatch.setattr(secure_random, "_MOST_BYTES", 100)
        monkeypatch.setattr(secure_random, "_random_bytes", lambda n: asked.append(n) or bytes(n))
        assert len(SecureGenerator().bytes(250)) == 250
        assert asked == [100, 100, 50]


KINDS = {  # each takes numbers that were drawn ahead, or draws its own
    "integers": lambda rng: rng.integers(2**63, size=100),
    "uniform": lambda rng: np.concatenate([rng.random(9) for _ in range(11)] + [[rng.random()]]),
    "normal": lambda rng: np.concatenate([rng.standard_normal(20) for _ in range(5)]),
    "many": lambda rng: rng.random(2000)[:100],
}
every_kind = pytest.mark.parametrize("kind", KINDS)


@every_kind
class TestStreams:
    """Of 53-bit numbers two among 10 000 are equal with chance 6e-9."""

    @pytest.mark.parametrize(
        "again", [copy.copy, copy.deepcopy, lambda g: pickle.loads(pickle.dumps(g))]
    )
    def test_copies_and_children_repeat_nothing(self, again, kind):
        KINDS[kind](RNG)
        generators = [RNG, again(RNG), again(RNG), *RNG.spawn(2)]
        found = np.concatenate([KINDS[kind](one) for one in generators for _ in range(10)])
        assert np.unique(found).size == 5000

    def test_threads_repeat_nothing(self, kind):
        with ThreadPoolExecutor(8) as pool:
            found = list(pool.map(lambda _: KINDS[kind](RNG), range(100)))
        assert np.unique(np.concatenate(found)).size == 10_000

    @pytest.mark.skipif(
        "fork" not in multiprocessing.get_all_start_methods(), reason="no forks here"
    )
    @pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
    def test_forks_repeat_nothing(self, kind):
        KINDS[kind](RNG)
        with multiprocessing.get_context("fork").Pool(4) as pool:
            found = pool.map(_drawn, [kind] * 8, chunksize=1)
        assert np.unique(np.concatenate([*found, _drawn(kind)])).size == 900


class TestMethods:
    def test_every_method_that_the_package_calls_exists(self):
        called = set()
        programs = (path.read_text() for path in Path(skdp.__file__).parent.rglob("*.py"))
        for program in (one for one in programs if re.search(rf"({'|'.join(GENERATORS)})\.", one)):
            for node in ast.walk(ast.parse(program)):
                if isinstance(node, ast.Attribute) and _is_generator(node.value):
                    called.add(node.attr)
        assert {"integers", "standard_normal", "permutation"} <= called
        assert [name for name in sorted(called) if not hasattr(RNG, name)] == []


GENERATORS = ("rng", "_rng", "generator")


def _drawn(kind):
    return KINDS[kind](RNG)


def _is_generator(node):
    name = node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
    return name in GENERATORS
