"""Where noise comes from: a cryptographic generator, or a seed."""

import numpy as np
import pytest
from scipy import stats
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.ensemble import AdaBoostClassifier, BaggingClassifier, VotingClassifier
from sklearn.model_selection import cross_validate

from skdp import DPLogisticRegression, PrivacyBudget
from skdp.naive_bayes import DPGaussianNB
from skdp.support.random import child_generator, noise_generator, poisson_sample
from skdp.support.secure_random import SecureGenerator

X, y = make_blobs(100, centers=[[-1, 0], [1, 0]], cluster_std=0.3, random_state=0)
SEEDS = [0, np.random.RandomState(0), np.random.default_rng(0), np.random.default_rng()]
every_seed = pytest.mark.parametrize("seed", SEEDS, ids=lambda s: type(s).__name__)


class TestSources:
    def test_without_a_seed_bits_are_cryptographic(self):
        assert isinstance(noise_generator(None), SecureGenerator)
        assert isinstance(child_generator(noise_generator(None)), SecureGenerator)
        one, other = (noise_generator(None).integers(0, 2**63, 1000) for _ in range(2))
        assert not np.isin(one, other).any()  # by chance 1e-13

    def test_with_a_seed_they_are_numpys(self):
        assert isinstance(noise_generator(3), np.random.Generator)
        assert noise_generator(3).normal() == np.random.default_rng(3).normal()


class TestSeeds:
    @every_seed
    def test_with_a_budget_a_seed_is_refused(self, seed, unspent):
        for Model in (DPLogisticRegression, DPGaussianNB):
            with pytest.raises(ValueError, match=r"random_state must be None.*Nothing was spent"):
                Model(budget=unspent, random_state=seed).fit(X, y)

    @every_seed
    def test_without_one_the_guarantee_says_that_it_is_void(self, seed):
        model = DPLogisticRegression(random_state=seed).fit(X, y)
        assert model.privacy_.seeded
        assert "VOID" in str(model.privacy_)
        assert not DPLogisticRegression().fit(X, y).privacy_.seeded

    @pytest.mark.parametrize("Ensemble", [BaggingClassifier, AdaBoostClassifier])
    def test_ensembles_publish_seeds_and_so_cannot_spend(self, Ensemble):
        """Reading estimators_[i].random_state took the noise off what had spent from a budget."""
        budget = PrivacyBudget(epsilon=50.0, delta=1e-3, composition="basic")
        model = DPLogisticRegression(delta=1e-6, budget=budget)
        with pytest.raises(ValueError, match="Ensembles of scikit-learn set and publish"):
            Ensemble(model, n_estimators=2).fit(X, y)
        assert budget.history() == []

    @pytest.mark.parametrize("Ensemble", [BaggingClassifier, AdaBoostClassifier])
    def test_members_of_an_ensemble_without_a_budget_are_void(self, Ensemble):
        model = DPLogisticRegression(epsilon=50.0, max_weight=0.02)  # weights of boosting sum to 1
        ensemble = Ensemble(model, n_estimators=2).fit(X, y)
        assert all(member.privacy_.seeded for member in ensemble.estimators_)

    @pytest.mark.parametrize("more", [{}, {"bootstrap": False}])
    def test_members_without_max_weight_refuse_the_weights_of_bagging(self, more):
        with pytest.raises(ValueError, match="sample_weight needs max_weight"):
            BaggingClassifier(DPLogisticRegression(), n_estimators=2, **more).fit(X, y)

    def test_an_ensemble_that_sets_no_seeds_spends_for_each_member(self):
        budget = PrivacyBudget(epsilon=50.0, delta=1e-3, composition="basic")
        model = DPLogisticRegression(delta=1e-6, budget=budget)
        ensemble = VotingClassifier([("a", model), ("b", clone(model))]).fit(X, y)
        assert len(budget.history()) == 2
        assert not any(member.privacy_.seeded for member in ensemble.estimators_)

    def test_clones_that_share_a_generator_are_void(self):
        """Each has the same noise, while a ledger would add them up as independent."""
        model = DPLogisticRegression(random_state=np.random.default_rng())
        one, other = clone(model).fit(X, y), clone(model).fit(X, y)
        assert np.array_equal(one.coef_, other.coef_)
        assert one.privacy_.seeded
        assert other.privacy_.seeded
        with pytest.raises(ValueError, match="random_state must be None"):
            cross_validate(
                model.set_params(budget=PrivacyBudget(epsilon=5.0, delta=1e-5)),
                X,
                y,
                error_score="raise",
            )

    def test_clones_without_one_have_noise_of_their_own(self):
        model = DPLogisticRegression()
        assert not np.array_equal(clone(model).fit(X, y).coef_, clone(model).fit(X, y).coef_)


class TestPoissonSamples:
    @pytest.mark.parametrize("exactly", [False, True])
    def test_gaps_are_geometric_however_they_are_decided(self, exactly, monkeypatch):
        if exactly:
            monkeypatch.setattr("skdp.support.random._MARGIN", 10.0)
        n = 4000 if exactly else 100_000
        sample = poisson_sample(round(n / 0.3), 0.3, noise_generator(None))
        gaps = np.diff(sample, prepend=-1)
        counts = np.bincount(np.minimum(gaps, 12), minlength=13)[1:]
        mass = 0.3 * 0.7 ** np.arange(11.0)
        expected = np.append(mass, 1.0 - mass.sum()) * len(gaps)
        assert stats.chisquare(counts, expected).pvalue > 1e-7  # the chance of a false alarm
