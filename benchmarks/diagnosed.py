"""Diagnostics of a fit, such as the number of gradients. They are not private: for benchmarks."""


def diagnosed(model):
    """Return the model, which will keep the diagnostics of its solver as `diagnostics_`."""
    publish = model._publish_solution

    def keep(solution, *rest):
        publish(solution, *rest)
        model.diagnostics_ = solution.diagnostics

    model._publish_solution = keep
    return model
