"""Mean ranks of private models over cells (data set and ε), with intervals over data sets."""

import numpy as np

LEVEL = 0.95
N_RESAMPLES = 10_000


def mean_ranks(values, less_is_better):
    """Return (mean rank, low, high) for each model.

    `values` has a line for each (table, epsilon) and a column for each model. The interval is the
    percentile bootstrap over tables: all ε of a table are drawn together, because they share rows.
    """
    ranks = values.rank(axis=1, ascending=less_is_better)
    of_tables = ranks.groupby(level="table").mean()
    rng = np.random.default_rng(0)  # the page does not change from one run to the next
    drawn = rng.integers(len(of_tables), size=(N_RESAMPLES, len(of_tables)))
    means = of_tables.to_numpy()[drawn].mean(axis=1)
    low, high = np.quantile(means, [0.5 - LEVEL / 2, 0.5 + LEVEL / 2], axis=0)
    return {
        model: (mean, *ends)
        for model, mean, *ends in zip(ranks, of_tables.mean(), low, high, strict=True)
    }
