"""Model cards state the guarantee in a format of registries, and no secret."""

import json
from dataclasses import replace

import numpy as np
import pytest

import skdp
from skdp import DPLinearRegression, DPLogisticRegression, PrivacyBudget
from skdp.inspection import model_card
from skdp.pipeline import make_private_pipeline
from skdp.preprocessing import DPStandardScaler
from skdp.privacy import GDPEvent
from skdp.privacy.composed_events import ApproximatedEvent

X = np.random.default_rng(0).uniform(-1.0, 1.0, size=(2000, 2))
y = (X[:, 0] > 0).astype(int)


def header_of(card):
    yaml = pytest.importorskip("yaml")
    before, header, _ = str(card).split("---\n", 2)
    assert before == ""
    return yaml.safe_load(header)


def test_the_header_and_the_text_state_the_guarantee(tmp_path):
    budget = PrivacyBudget(epsilon=2.0, delta=1e-6, path=tmp_path / "secret_place.ledger")
    model = DPLogisticRegression(epsilon=0.8, C=3.5, budget=budget).fit(X, y)
    card = model_card(model, title="Readmissions")
    header = header_of(card)
    assert header["pipeline_tag"] == "tabular-classification"
    assert float(header["privacy_delta"]) == 1e-6
    assert 0.79 < header["privacy_epsilon"] <= 0.8
    assert "\n# Readmissions\n" in str(card)
    assert str(model.privacy_) in str(card)
    assert "C=3.5" in str(card)
    assert "secret_place" not in str(card)


def test_a_pipeline_has_the_card_of_all_its_steps():
    steps = DPStandardScaler(bounds=(-1, 1)), DPLinearRegression(target_bounds=(0, 1))
    pipeline = make_private_pipeline(*steps, epsilon=2.0, neighboring="add_remove_one").fit(X, y)
    header = header_of(model_card(pipeline))
    assert header["pipeline_tag"] == "tabular-regression"
    assert header["privacy_neighboring"] == "add_remove_one"
    assert 1.9 < header["privacy_epsilon"] <= 2.0


@pytest.mark.parametrize("given", [{"epsilon": np.inf}, {"random_state": 0}])
def test_a_model_without_a_guarantee_has_no_card(given):
    with pytest.raises(ValueError, match="no guarantee"):
        model_card(DPLogisticRegression(**given).fit(X, y))


FIELDS = ["epsilon", "delta", "unit", "neighboring", "theorem", "gdp_mu", "library"]


@pytest.mark.parametrize("event", [GDPEvent(0.25), ApproximatedEvent(GDPEvent(0.25), 1e-9)])
def test_output_checkers_read_a_small_json(event):
    model = DPLogisticRegression(epsilon=1.0).fit(X, y)
    model.privacy_ = replace(model.privacy_, event=event)
    text = json.dumps(model_card(model).metadata, allow_nan=False)
    found = json.loads(text)
    assert [*found] == [f"privacy_{name}" for name in FIELDS]
    assert len(text) < 1000
    assert found["privacy_gdp_mu"] == (0.25 if isinstance(event, GDPEvent) else "inf")
    assert found["privacy_library"] == f"skdp {skdp.__version__}"
