#!/usr/bin/env bash
# PipelineDP: a released variance may be negative.
set -euo pipefail

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/pip" install -q 'pipeline-dp==0.3.1' 'python-dp==1.1.5'

"$folder/venv/bin/python" -W ignore - << 'PYTHON'
from importlib.metadata import version

import pipeline_dp as pipeline


def variance():
    accountant = pipeline.NaiveBudgetAccountant(total_epsilon=1.0, total_delta=1e-6)
    parameters = pipeline.AggregateParams(
        metrics=[pipeline.Metrics.VARIANCE],
        max_partitions_contributed=1,
        max_contributions_per_partition=1,
        min_value=0,
        max_value=10,
    )
    extractors = pipeline.DataExtractors(
        privacy_id_extractor=lambda row: row[0],
        partition_extractor=lambda row: "all",
        value_extractor=lambda row: row[1],
    )
    engine = pipeline.DPEngine(accountant, pipeline.LocalBackend())
    rows = [(person, 5.0) for person in range(1000)]
    result = engine.aggregate(rows, parameters, extractors, public_partitions=["all"])
    accountant.compute_budgets()
    return dict(result)["all"].variance


found = [variance() for _ in range(60)]
negative = sum(one < 0 for one in found)

print(f"pipeline-dp {version('pipeline-dp')}")
print("A variance is E[x^2] - E[x]^2 of noisy moments. It is not clipped at zero.")
print(f"60 variances of 1000 equal values: {negative} negative, the least {min(found):.3f}")
assert negative > 5  # half of them on average: fewer than 6 of 60 has probability 5e-12
PYTHON
