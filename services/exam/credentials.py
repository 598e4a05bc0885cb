"""Who may sit the examination and who is sitting it: access codes and signed session cookies."""

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
    """`count` students with random 128-bit access codes; the same seed gives the same codes, so a run can be repeated.

    That makes them fit for a laboratory only: a real examination would draw them from `secrets`.
    """
    source = random.Random(f"access codes {seed}")
    for number in range(1, count + 1):
        yield Student(number, f"student{number:05d}", f"{source.getrandbits(128):032x}")


def code_hash(code: str) -> bytes:
    """What the database keeps of an access code (schema.sql says why a fast hash is right)."""
    return hashlib.sha256(code.strip().lower().encode()).digest()


def is_code(code: str, expected: bytes | None) -> bool:
    """Whether the code is the expected one, in the same time whether or not the account exists (None)."""
    return hmac.compare_digest(code_hash(code), expected or bytes(32))


def sign(session: Session, key: bytes, now: float) -> str:
    """A cookie value that proves the session for `SESSION_SECONDS`; accounts of letters and digits only."""
    claim = f"{session.student}.{session.account}.{int(now) + SESSION_SECONDS}"
    return f"{claim}.{_mac(claim, key)}"


def verified(cookie: str, key: bytes, now: float) -> Session | None:
    """The session that a cookie value proves, or None if it is not ours or too old."""
    claim, _, mac = cookie.rpartition(".")
    if not hmac.compare_digest(mac.encode(), _mac(claim, key).encode()):
        return None
    student, account, expires = claim.split(".")
    return Session(int(student), account) if now < int(expires) else None


def _mac(claim: str, key: bytes) -> str:
    return urlsafe_b64encode(hmac.digest(key, claim.encode(), "sha256")).decode().rstrip("=")
