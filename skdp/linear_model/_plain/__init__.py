"""Fitted linear models as pipelines of scikit-learn's own objects."""
