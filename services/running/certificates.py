"""Certificates of servers in hosts, which have signed themselves."""

import datetime
import ipaddress
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import rsa
from cryptography.x509.oid import NameOID

_FROM, _UNTIL = datetime.datetime(2020, 1, 1), datetime.datetime(2100, 1, 1)


def write_certificate(certificate: Path, key: Path, server: str) -> None:
    """Writes a new key, and a certificate for a server's name or address that is signed with it."""
    new_key = rsa.generate_private_key(public_exponent=65537, key_size=2048)  # its signatures all have one length
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, server)])
    signed = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(new_key.public_key())
        .serial_number(1)
        .not_valid_before(_FROM)
        .not_valid_after(_UNTIL)
        .add_extension(x509.SubjectAlternativeName([_general_name(server)]), critical=False)
        .sign(new_key, hashes.SHA256())
    )
    certificate.write_bytes(signed.public_bytes(serialization.Encoding.PEM))
    form = (serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    key.write_bytes(new_key.private_bytes(*form))


def _general_name(server: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(server))
    except ValueError:
        return x509.DNSName(server)
