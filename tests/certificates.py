"""A certificate authority of a test, and what it signs."""

import ipaddress
from datetime import UTC, datetime, timedelta
from pathlib import Path

from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID


class Authority:
    """Signs certificates; its own lies in ``ca``, those of others in NAME.pem and NAME.key."""

    def __init__(self, folder: Path, name: str = "ca") -> None:
        self.folder = folder
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
        self._key = ec.generate_private_key(ec.SECP256R1())
        self.ca = folder / f"{name}.pem"
        usage = x509.KeyUsage(
            *(True, False, False, False, False, True, True),
            encipher_only=False,
            decipher_only=False,
        )
        made = (
            self._about(self._name, self._key.public_key())
            .add_extension(x509.BasicConstraints(ca=True, path_length=0), critical=True)
            .add_extension(usage, critical=True)
            .add_extension(self._subject(self._key.public_key()), critical=False)
            .sign(self._key, hashes.SHA256())
        )
        self.ca.write_bytes(made.public_bytes(Encoding.PEM))

    def sign(self, name: str) -> tuple[Path, Path]:
        """Make a certificate for a name, good for 127.0.0.1, and its key."""
        key = ec.generate_private_key(ec.SECP256R1())
        address = x509.IPAddress(ipaddress.IPv4Address("127.0.0.1"))
        issuer = x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key())
        made = (
            self._about(
                x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)]), key.public_key()
            )
            .add_extension(x509.SubjectAlternativeName([address]), critical=False)
            .add_extension(issuer, critical=False)
            .sign(self._key, hashes.SHA256())
        )
        cert, file = self.folder / f"{name}.pem", self.folder / f"{name}.key"
        cert.write_bytes(made.public_bytes(Encoding.PEM))
        file.write_bytes(key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()))
        return cert, file

    def _about(self, name: x509.Name, key: ec.EllipticCurvePublicKey) -> x509.CertificateBuilder:
        now = datetime.now(UTC)
        return (
            x509.CertificateBuilder()
            .subject_name(name)
            .issuer_name(self._name)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - timedelta(days=1))
            .not_valid_after(now + timedelta(days=1))
        )

    @staticmethod
    def _subject(key: ec.EllipticCurvePublicKey) -> x509.SubjectKeyIdentifier:
        return x509.SubjectKeyIdentifier.from_public_key(key)
