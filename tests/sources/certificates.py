"""Create a certificate authority and certificates signed by it, for servers on loopback."""

import datetime as dt
from ipaddress import ip_address
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID


def a_certificate(folder: Path, name: str) -> tuple[Path, Path]:
    """Write the certificate of an authority, and a certificate for a host with its key; return the two files."""
    authority_key, key = ec.generate_private_key(ec.SECP256R1()), ec.generate_private_key(ec.SECP256R1())
    issuer = _named("Test authority")
    authority = _builder(issuer, issuer, authority_key).add_extension(
        x509.BasicConstraints(ca=True, path_length=None), critical=True
    )
    certificate = _builder(issuer, _named(name), key).add_extension(
        x509.SubjectAlternativeName([_general(name)]), critical=False
    )
    files = folder / "authority.pem", folder / "server.pem"
    signed = authority.sign(authority_key, hashes.SHA256()), certificate.sign(authority_key, hashes.SHA256())
    pem = [each.public_bytes(serialization.Encoding.PEM) for each in signed]
    private = key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    )
    files[0].write_bytes(pem[0])
    files[1].write_bytes(pem[1] + private)
    return files


def _named(name: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])


def _general(name: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ip_address(name))
    except ValueError:
        return x509.DNSName(name)


def _builder(issuer: x509.Name, subject: x509.Name, key: ec.EllipticCurvePrivateKey) -> x509.CertificateBuilder:
    now = dt.datetime.now(dt.UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
    )
