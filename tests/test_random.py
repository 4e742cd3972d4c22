"""Where noise comes from: the operating system, through a cipher if one is installed."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_blobs
from sklearn.ensemble import AdaBoostClassifier, BaggingClassifier, VotingClassifier
from sklearn.model_selection import cross_validate

from skdp import DPLogisticRegression, PrivacyBudget
from skdp.naive_bayes import DPGaussianNB
from skdp.support import random
from skdp.support.random import noise_generator

X, y = make_blobs(100, centers=[[-1, 0], [1, 0]], cluster_std=0.3, random_state=0)
SEEDS = [0, np.random.RandomState(0), np.random.default_rng(0), np.random.default_rng()]
every_seed = pytest.mark.parametrize("seed", SEEDS, ids=lambda s: type(s).__name__)


class TestCipher:
    def test_two_streams_differ_and_are_uniform(self):
        one, other = (noise_generator(None).integers(0, 2**63, 1000) for _ in range(2))
        assert not np.isin(one, other).any()  # by chance 1e-13

    def test_the_cipher_is_chacha20(self):
        """Its key stream for key and nonce 0, from RFC 8439's appendix A.1, test vector 1."""
        cipher = pytest.importorskip("randomgen").ChaCha(key=0, counter=0, rounds=20)
        stream = np.asarray(cipher.random_raw(4), dtype="<u8").tobytes()
        assert stream.hex() == "76b8e0ada0f13d90405d6ae55386bd28bdd219b8a08ded1aa836efcc8b770dc7"

    def test_it_is_keyed_by_the_operating_system_and_no_seed(self, monkeypatch):
        keys = []

        def cipher(key, rounds):
            keys.append((key, rounds))
            return np.random.PCG64(key)

        monkeypatch.setattr(random, "ChaCha", cipher)
        noise_generator(None)
        noise_generator(None)
        noise_generator(3)
        (one, rounds), (other, _) = keys
        assert rounds == 20
        assert one != other
        assert max(one, other) > 2**200  # else with chance 1e-33

    def test_without_it_numpys_generator_is_seeded_by_the_operating_system(self, monkeypatch):
        monkeypatch.setattr(random, "ChaCha", None)
        one, other = (noise_generator(None) for _ in range(2))
        assert isinstance(one.bit_generator, np.random.PCG64)
        assert one.normal() != other.normal()


class TestSeeds:
    @every_seed
    def test_with_a_budget_a_seed_is_refused(self, seed):
        budget = PrivacyBudget(epsilon=5.0, delta=1e-5)
        for Model in (DPLogisticRegression, DPGaussianNB):
            with pytest.raises(ValueError, match=r"random_state must be None.*Nothing was spent"):
                Model(budget=budget, random_state=seed).fit(X, y)
        assert budget.history() == []

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
