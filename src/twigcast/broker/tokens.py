"""Tokens: what a client shows to be known, and what a broker keeps of them.

A token is 256 random bits as text behind ``twc_``, so that people and secret scanners know one when
they see it.  A broker keeps its SHA-256 alone, ``sha256:`` and 64 hexadecimal digits: whoever reads
the configuration, or a copy of it, cannot log in with what stands there.

A plain hash is right here, although it would be wrong for passwords.  Salt and slow hashing protect
texts that can be guessed, by making each guess dear; nobody guesses 256 random bits, however quick
a guess may be.  So each connection costs one hash, and a token is looked up by its hash.  The time
of a look-up gives an attacker hints about hashes of guesses, from which no token can be built up.
"""

from __future__ import annotations

import hashlib
import re
import secrets
from typing import Final

PREFIX: Final = "twc_"
_BYTES: Final = 32
_HASHED: Final = re.compile(r"sha256:[0-9a-f]{64}")


def new_token() -> tuple[str, str]:
    """A token to hand to its owner, and the hash to configure; the token is kept nowhere."""
    token = PREFIX + secrets.token_urlsafe(_BYTES)
    return token, hash_token(token)


def hash_token(token: str) -> str:
    """What a broker keeps of a token."""
    return f"sha256:{hashlib.sha256(token.encode('utf-8', 'surrogatepass')).hexdigest()}"


def is_hashed(text: str) -> bool:
    """Whether a text is what :func:`hash_token` makes."""
    return _HASHED.fullmatch(text) is not None
