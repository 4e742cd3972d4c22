"""Interrupts at chosen bytecode boundaries of one call, as a signal may raise them."""

import dis
import gc
import sys
import threading
from pathlib import Path

# Frames of these only compute: an interrupt there leaves the ledger as one at their call does.
_COMPUTING = ("fractions", "dataclasses", "copy", "encoder", "release", "uuid", "enum", "_py_abc")
_COMPUTING += ("decimal", "copyreg", "decoder", "scanner", "types", "typing")


class Interrupts:
    """Raises KeyboardInterrupt at the n-th bytecode boundary of a call; counts them if n is None.

    All frames count that the call enters in this thread, those of the standard library included,
    but for those that only compute and those of psycopg. `start` is the qualified name of the first
    function whose bytecodes count.
    """

    def __init__(self, n=None, start="BudgetHandle.spend"):
        self.n, self.start, self.passed, self.where = n, start, 0, None
        self._first = None

    def call(self, function):
        """Call a function, and return what it raised, or None."""
        before = sys.gettrace()
        gc.disable()  # a trace function that raises in what is collected leaves CPython broken
        sys.settrace(self._enter)
        try:
            function()
        except BaseException as error:
            return error
        finally:
            sys.settrace(before)
            gc.enable()
        return None

    def _enter(self, frame, event, argument):
        if self._first is None:
            if frame.f_code.co_qualname != self.start:
                return self._enter
            self._first = frame
        if _is_computing(frame.f_code.co_filename):
            return None
        frame.f_trace_opcodes = True
        frame.f_trace_lines = False
        return self._step

    def _step(self, frame, event, argument):
        if event == "opcode" and not (
            _is_half_done(frame) or (frame is self._first and _is_return(frame))
        ):
            self.passed += 1
            if self.passed == self.n:
                self.where = f"{frame.f_code.co_filename}:{frame.f_lineno} {frame.f_code.co_name}"
                raise KeyboardInterrupt
        return self._step


def _is_return(frame):
    """No handler of a function surrounds its return; signals arrive at calls and jumps only."""
    here, code = frame.f_lasti, frame.f_code.co_code
    names = [dis.opname[number] for number in code[here : here + 4 : 2]]
    return names[0].startswith("RETURN") or (names[0] == "LOAD_CONST" and "RETURN_VALUE" in names)


def _is_half_done(frame):
    """Whether an exception is about to be pushed or popped, or a call has its keywords already.

    CPython delivers no signal there. An error raised there by a trace function leaves the
    interpreter with an exception that is never popped, or with keywords for the next call.
    """
    here, code = frame.f_lasti, frame.f_code.co_code
    now, *before = (dis.opname[code[k]] for k in (here, here - 2, here - 6) if k >= 0)
    return now in ("PUSH_EXC_INFO", "POP_EXCEPT") or ("CALL" in now and "KW_NAMES" in before)


def _is_computing(path):
    if "/psycopg/" in path:
        # The driver's own `with self.lock` has boundaries at which its lock stays held. CPython
        # delivers no signal there; interrupts by a timer test what it does deliver.
        return True
    return path.startswith("<") or Path(path).stem in _COMPUTING or "/skdp/privacy/" in path


def said(error):
    """Return the message and the notes of an error."""
    return " ".join([str(error), *getattr(error, "__notes__", ())])


def ends_soon(action, seconds=20.0):
    """Return whether an action ends without an error in another thread."""
    outcome = []
    thread = threading.Thread(target=lambda: outcome.append(action()), daemon=True)
    thread.start()
    thread.join(seconds)
    return bool(outcome)
