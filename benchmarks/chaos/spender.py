"""A process that spends as fast as it can, and writes down what it was told about each spend."""

import os
import signal
import time
import traceback
from contextlib import contextmanager

from skdp import PrivacyBudget, statistics
from skdp.exceptions import BudgetExceededError
from skdp.privacy import PrivacyGuarantee, PureDPEvent

COST = 0.001  # ε of one release
NOTHING = ("Nothing was spent", "othing was recorded")
PAID = ("as spent", "was spent", "was paid", "been paid", "is paid")
_GUARANTEE = PrivacyGuarantee(PureDPEvent(COST), "replace_one", "")
_ASKED_TO_END = (signal.SIGINT, signal.SIGTERM)


def budget_at(place, room):
    """Return a budget for exactly `room` spends."""
    return PrivacyBudget(
        epsilon=round(room * COST, 6), delta=0.0, composition="pure", path=str(place)
    )


class Diary:
    """A file of (word, label) lines, on the disk before the next line of the program runs.

    Words: "try"; "ack", the spend returned; "model", a statistic was released; "nothing", an error
    said that nothing was spent; "paid", one said that it was or may have been; "silent", one said
    neither; "outside", an interrupt came outside the library.
    """

    def __init__(self, path):
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def write(self, word, label):
        line = f"{word} {label}\n".encode()
        while line:
            try:
                line = line[os.write(self._file, line) :]
            except OSError:  # a limit that is about to be lifted
                time.sleep(0.01)
        if word != "try":
            os.fsync(self._file)


def spend_until_full(place, room, name, diary_path):
    """Spend until the budget admits no more; signals arrive during spends only."""
    signal.pthread_sigmask(signal.SIG_BLOCK, _ASKED_TO_END)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    signal.signal(signal.SIGTERM, _leave)
    diary, i, budget = Diary(diary_path), 0, None
    while True:
        label = f"{name}-{i}"
        diary.write("try", label)
        try:
            with _interruptible():
                budget = budget or budget_at(place, room)
                word = _spend(budget, label, is_model=i % 2 == 1)
        except BaseException as error:
            word, text = _word_of(error), _text_of(error)
            diary.write(word, label)
            if word == "silent":
                diary.write("trace", f"{label} {text}".replace("\n", "|"))
            if isinstance(error, SystemExit):
                raise
            if isinstance(error, BudgetExceededError):
                return
        else:
            diary.write(word, label)
        i += 1


def _leave(*_):
    raise SystemExit(143)


@contextmanager
def _interruptible():
    signal.pthread_sigmask(signal.SIG_UNBLOCK, _ASKED_TO_END)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_BLOCK, _ASKED_TO_END)


def _spend(budget, label, *, is_model):
    if is_model:
        statistics.count([True, False], epsilon=COST, budget=budget.at(name=label))
        return "model"
    budget.spend(_GUARANTEE, delta=0.0, name=label, epsilon=COST)
    return "ack"


def _word_of(error):
    text = "\n".join([str(error), *getattr(error, "__notes__", ())])
    if any(words in text for words in PAID):
        return "paid"
    if isinstance(error, BudgetExceededError) or any(words in text for words in NOTHING):
        return "nothing"
    return "silent" if _inside_the_library(error) else "outside"


def _inside_the_library(error):
    names = [frame.filename for frame in traceback.extract_tb(error.__traceback__)]
    return any("/skdp/" in name for name in names)


def _text_of(error):
    return "".join(traceback.format_exception(error))[-3000:]
