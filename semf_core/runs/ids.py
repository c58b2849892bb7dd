"""Names that cannot be guessed, and keys that prove who may touch a run."""

from __future__ import annotations

import hashlib
import hmac
import re
import secrets

from semf_core.common.errors import InvalidInput

ID = re.compile(r"[A-Za-z0-9_-]{22}")
VARIANT = re.compile(rf"({ID.pattern})\.(0|[1-9][0-9]?)")
"""One of the runs that a snapshot holds: the snapshot's id, and its number."""


def may_be_run(text: str) -> bool:
    """Whether this may name a run, a snapshot or a variant of one."""
    return bool(ID.fullmatch(text) or VARIANT.fullmatch(text))


def new_id() -> str:
    """128 random bits that are safe in an address and as the name of a folder."""
    return secrets.token_urlsafe(16)


def checked_id(field: str, value: object) -> str:
    """The id, or an error before anything in the file system is touched."""
    if not isinstance(value, str) or not ID.fullmatch(value):
        raise InvalidInput(field, "has an id that is not valid", "open it with the whole link you were given")
    return value


def key_hash(key: str) -> str:
    """What is stored of a control key."""
    return hashlib.sha256(key.encode()).hexdigest()


def key_matches(key: object, stored: str) -> bool:
    return isinstance(key, str) and hmac.compare_digest(key_hash(key), stored)
