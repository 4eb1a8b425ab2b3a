"""Asking for a person's passphrase, at the terminal alone: not from standard input, an argument, a variable or a file.

`unlock_at_terminal` opens the person's key, or makes it the first time, and lets this process sign until it ends.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from tacit.config.signers import set_unlocked_key, unlocked_key
from tacit.config.signing_key import SHORTEST, KeyCost, UnlockedKey, create_key, has_key, unlock
from tacit.domain.errors import Mistake, NotPermitted, Refusal

_TRIES = 3
_NEW = f"""Tacit needs a passphrase of yours, once. Whatever agents may use is signed with it, so that no agent can approve
anything. Nobody can recover it; at least {SHORTEST} characters, such as several words.
"""


def unlock_at_terminal(home: Path, what: str, *, name: str, ask: Callable[[str], str] | None = None) -> UnlockedKey:
    """Ask for the passphrase and let this process sign; `what` says what for. The first time a key is made.

    Raises `NotPermitted` without a terminal, or after too many wrong passphrases.
    """
    if known := unlocked_key():
        return known
    asked = ask or ask_at_terminal
    hide_memory()
    key = _opened(home, what, asked) if has_key(home) else new_key_at_terminal(home, name=name, ask=asked)
    set_unlocked_key(key)
    return key


def new_key_at_terminal(
    home: Path, *, name: str, ask: Callable[[str], str] | None = None, cost: KeyCost | None = None
) -> UnlockedKey:
    """Let the person choose a passphrase, and make a key with it."""
    asked = ask or ask_at_terminal
    question = f"{_NEW}Choose a passphrase: "
    for _ in range(_TRIES):
        passphrase = asked(question)
        if len(passphrase) < SHORTEST:
            question = f"At least {SHORTEST} characters, please. Choose a passphrase: "
        elif asked("The same again: ") != passphrase:
            question = "The two differ. Choose a passphrase: "
        else:
            return create_key(home, passphrase, name=name, at=datetime.now(UTC), cost=cost)
    message = "no passphrase was typed twice alike"
    raise Mistake(message, code="passphrases_differ", hint="run the command again")


def hide_memory() -> None:
    """Let no other process of the same user read the memory of this one, and write no core file; on Linux."""
    if sys.platform == "linux":
        import ctypes

        set_dumpable = 4
        with suppress(OSError, AttributeError):
            ctypes.CDLL(None).prctl(set_dumpable, 0, 0, 0, 0)


def _opened(home: Path, what: str, ask: Callable[[str], str]) -> UnlockedKey:
    question = f"Passphrase, to sign: {what}: "
    for tries_left in range(_TRIES - 1, -1, -1):
        passphrase = ask(question)
        question = f"That is not it. {question}"
        try:
            return unlock(home, passphrase)
        except NotPermitted as error:
            if error.code != "wrong_passphrase" or not tries_left:
                raise
    raise AssertionError("unreachable")


def ask_at_terminal(question: str) -> str:
    """Ask on the terminal of this process, without showing what is typed. Raises `NotPermitted` where there is none."""
    if sys.platform == "win32":
        import getpass

        return getpass.getpass(question)
    import termios

    try:
        terminal = os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY)
    except OSError:
        message = "a passphrase is needed, and there is no terminal to ask for it"
        raise NotPermitted(message, code="needs_passphrase", hint="run it in a terminal of your own") from None
    try:
        before = termios.tcgetattr(terminal)
        quiet = list(before)
        quiet[3] &= ~termios.ECHO
        # What was typed before the question is discarded.
        termios.tcsetattr(terminal, termios.TCSAFLUSH, quiet)
        try:
            os.write(terminal, question.encode())
            typed = b""
            while not typed.endswith(b"\n") and (read := os.read(terminal, 1024)):
                typed += read
        finally:
            with suppress(termios.error):
                termios.tcsetattr(terminal, termios.TCSAFLUSH, before)
        os.write(terminal, b"\n")
    except (OSError, termios.error) as error:
        message = f"the terminal cannot ask for a passphrase: {error}"
        raise NotPermitted(message, code="needs_passphrase", hint="run it in a terminal of your own") from None
    finally:
        os.close(terminal)
    if not typed.endswith(b"\n"):
        raise Refusal("no passphrase was given", code="no_passphrase", hint="run the command again")
    return typed.rstrip(b"\r\n").decode("utf-8", "surrogateescape")
