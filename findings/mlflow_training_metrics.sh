#!/usr/bin/env bash
# MLflow: autolog without post-training metrics and data sets still logs seven scores.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q 'mlflow-skinny==3.17.2' 'scikit-learn==1.9.1' 'numpy==2.4.6' 'pandas==2.3.3'

cd "$folder"
export MLFLOW_ALLOW_FILE_STORE=true
venv/bin/python -W ignore - << 'PYTHON'
import logging
from importlib.metadata import version

import mlflow
import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import Normalizer

logging.disable(logging.WARNING)
mlflow.set_tracking_uri("file:runs")
mlflow.sklearn.autolog(log_post_training_metrics=False, log_datasets=False, log_models=False)
rng = np.random.default_rng(0)
X = rng.normal(size=(200, 2))
with mlflow.start_run() as run:
    make_pipeline(Normalizer(), LogisticRegression()).fit(X, X[:, 0] > 0)
metrics = sorted(mlflow.get_run(run.info.run_id).data.metrics)

print(f"mlflow-skinny {version('mlflow-skinny')}")
print("That parameter concerns metrics computed after the fit. Those of the training rows stay.")
print("logged:", metrics)
assert len(metrics) == 7 and all(name.startswith("training_") for name in metrics)
PYTHON
