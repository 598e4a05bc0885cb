"""Access codes of students, and signed session cookies."""

import hashlib
import hmac
import random
from base64 import urlsafe_b64encode
from collections.abc import Iterator
from dataclasses import dataclass

SESSION_SECONDS = 4 * 3600


@dataclass(frozen=True)
class Student:
    """One student: the number in the database, the account, and the code that only the student knows."""

    number: int
    account: str
    code: str


@dataclass(frozen=True)
class Session:
    """A student who has logged in."""

    student: int
    account: str


def students(count: int, seed: int) -> Iterator[Student]:
    """Yields students with random 128-bit access codes; the same seed gives the same codes, so runs can be repeated.

    Such codes are for experiments only: a real examination would take them from `secrets`.
    """
    source = random.Random(f"access codes {seed}")
    for number in range(1, count + 1):
        yield Student(number, f"student{number:05d}", f"{source.getrandbits(128):032x}")


def code_hash(code: str) -> bytes:
    """Returns the hash of an access code that the database stores (schema.sql says why a fast hash is right)."""
    return hashlib.sha256(code.strip().lower().encode()).digest()


def is_code(code: str, expected: bytes | None) -> bool:
    """Returns whether a code has the expected hash; takes the same time if the account does not exist (None)."""
    return hmac.compare_digest(code_hash(code), expected or bytes(32))


def sign(session: Session, key: bytes, now: float) -> str:
    """Returns a cookie value that proves a session for `SESSION_SECONDS`; the account must be alphanumeric."""
    claim = f"{session.student}.{session.account}.{int(now) + SESSION_SECONDS}"
    return f"{claim}.{_mac(claim, key)}"


def verify(cookie: str, key: bytes, now: float) -> Session | None:
    """Returns the session that a cookie value proves; None if its signature is wrong, or it has expired."""
    claim, _, mac = cookie.rpartition(".")
    if not hmac.compare_digest(mac.encode(), _mac(claim, key).encode()):
        return None
    student, account, expires = claim.split(".")
    return Session(int(student), account) if now < int(expires) else None


def _mac(claim: str, key: bytes) -> str:
    return urlsafe_b64encode(hmac.digest(key, claim.encode(), "sha256")).decode().rstrip("=")
