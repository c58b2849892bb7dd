"""Words that only some know (a password, a publishing code): compared without telling how close a guess was, and slowly."""

from __future__ import annotations

import hmac
import os
import threading
import time

from semf_core.common.errors import InvalidInput

MOST_WRONG, FORGET_SECONDS = 5, 60.0
MOST_KNOWN = 10_000


def word_from_env(name: str, shortest: int) -> str:
    """What the operator has set, or nothing; one that can be guessed is rejected."""
    word = os.environ.get(name, "").strip()
    if word and len(word) < shortest:
        raise InvalidInput(name, f"has {len(word)} characters and could be guessed", f"take at least {shortest}")
    return word


class Guesses:
    """Lets somebody guess wrong a few times a minute; any number of threads may ask."""

    def __init__(self, most_wrong: int = MOST_WRONG) -> None:
        self._most_wrong = most_wrong
        self._wrong: dict[str, list[float]] = {}
        self._lock = threading.Lock()

    def check(self, field: str, who: str, given: str, word: str) -> bool:
        """Whether the guess is right; rejected if there were too many wrong ones before it."""
        now = time.monotonic()
        with self._lock:
            recent = [at for at in self._wrong.pop(who, []) if now - at < FORGET_SECONDS]
            if len(recent) < self._most_wrong:
                right = hmac.compare_digest(given.encode(), word.encode())
                recent += [] if right else [now]
            else:
                right = None
            if recent and not right:
                self._wrong[who] = recent
            while len(self._wrong) > MOST_KNOWN:
                del self._wrong[next(iter(self._wrong))]
        if right is None:
            raise InvalidInput(field, "was wrong too often", "wait a minute and try again")
        return right
