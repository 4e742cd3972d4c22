"""Other libraries' private linear classifiers behind one function each; they are optional.

Each entry of PEERS maps a name to ``learn(X, y, epsilon, seed) -> predict``, for two classes 0, 1
and rows of norm at most 1. A library that is not installed, or fails, is named with its reason by
`available`.
"""

import warnings

import numpy as np

DELTA = 1e-5


class PeerError(Exception):
    """Whatever another library raised: the benchmark goes on."""


BATCH, STEPS = 1024, 100


def diffprivlib(X, y, epsilon, seed):
    """Objective perturbation, purely ε-DP, of diffprivlib."""
    from diffprivlib.models import LogisticRegression

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = LogisticRegression(epsilon=epsilon, data_norm=1.0, random_state=seed)
        model.fit(_dense(X), y)
    return lambda X: model.predict(_dense(X))


def opacus(X, y, epsilon, seed):
    """DP-SGD of Opacus on a linear layer: 100 Poisson samples of 1024 rows, or a tenth of them."""
    import torch
    from opacus import PrivacyEngine
    from torch.utils.data import DataLoader, TensorDataset

    torch.manual_seed(seed)
    torch.set_num_threads(1)
    rows = torch.tensor(_dense(X), dtype=torch.float32)
    labels = torch.tensor(np.asarray(y), dtype=torch.float32)
    model = torch.nn.Linear(rows.shape[1], 1)
    torch.nn.init.zeros_(model.weight)
    optimizer = torch.optim.SGD(model.parameters(), lr=2.0, momentum=0.9)
    batch = min(BATCH, len(rows) // 10)
    data = DataLoader(TensorDataset(rows, labels), batch_size=batch)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model, optimizer, data = PrivacyEngine(accountant="rdp").make_private_with_epsilon(
            module=model,
            optimizer=optimizer,
            data_loader=data,
            target_epsilon=epsilon,
            target_delta=DELTA,
            epochs=max(1, round(STEPS * batch / len(rows))),
            max_grad_norm=1.0,
        )
        _descend(model, optimizer, data)
    return lambda X: _scores(model, X) > 0.0


def _descend(model, optimizer, data):
    from torch.nn.functional import binary_cross_entropy_with_logits

    done = 0
    while done < STEPS:
        for rows, labels in data:
            optimizer.zero_grad()
            binary_cross_entropy_with_logits(model(rows).squeeze(1), labels).backward()
            optimizer.step()
            done += 1
            if done == STEPS:
                return


def _scores(model, X):
    import torch

    with torch.no_grad():
        return model(torch.tensor(_dense(X), dtype=torch.float32)).squeeze(1).numpy()


def _dense(X):
    X = X.toarray() if hasattr(X, "toarray") else np.asarray(X)
    return X / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), 1.0)


PEERS = {"diffprivlib": diffprivlib, "opacus": opacus}


def available():
    """Return ({name: learn}, [why others are left out])."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(200, 3)), np.arange(200) % 2
    found, reasons = {}, []
    for name, learn in PEERS.items():
        try:
            guarded(learn)(X, y, 1.0, 0)(X)
            found[name] = guarded(learn)
        except PeerError as error:
            reasons.append(f"{name} is left out: {error}")
    return found, reasons


def guarded(learn):
    """Return `learn` with all its errors turned into a `PeerError`."""

    def learn_or_say_why(X, y, epsilon, seed):
        try:
            return learn(X, y, epsilon, seed)
        except Exception as error:
            raise PeerError(f"{type(error).__name__}: {error}") from error

    return learn_or_say_why
