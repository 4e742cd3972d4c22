"""Diagnostics of a fit, such as the number of gradients. They are not private: for benchmarks."""


def diagnosed(model):
    """Return the model, which will keep the diagnostics of its solver as `diagnostics_`."""
    publish = model._publish

    def keep(plan, records, released, guarantee):
        model.diagnostics_ = getattr(released.fitted, "diagnostics", None)  # none without privacy
        return publish(plan, records, released, guarantee)

    model._publish = keep
    return model
