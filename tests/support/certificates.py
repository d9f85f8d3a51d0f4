"""Certificates for tests, made by the ``openssl`` command: an authority, and what it signs."""

from __future__ import annotations

import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

_CURVE = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes")


@dataclass(frozen=True)
class Certificate:
    """The files of a certificate and of its key, in PEM form."""

    certificate: Path
    key: Path


def make_authority(folder: Path, name: str = "authority") -> Certificate:
    """An authority that signs certificates; its own is signed by itself."""
    made = Certificate(folder / f"{name}.pem", folder / f"{name}.key")
    openssl(
        *("req", "-x509", *_CURVE, "-days", "2", "-subj", f"/CN={name}"),
        *("-addext", "basicConstraints=critical,CA:TRUE"),
        *("-addext", "keyUsage=critical,keyCertSign,cRLSign"),
        *("-keyout", str(made.key), "-out", str(made.certificate)),
    )
    return made


def make_certificate(
    folder: Path, authority: Certificate, name: str, *, common_name: bool = True
) -> Certificate:
    """A certificate for servers and clients on this machine, made out to ``name``.

    Without ``common_name`` the name stands among the alternative ones only.
    """
    made = Certificate(folder / f"{name}.pem", folder / f"{name}.key")
    request, extensions = folder / f"{name}.request", folder / f"{name}.extensions"
    local = "" if not common_name else ",DNS:localhost,IP:127.0.0.1"
    extensions.write_text(
        f"subjectAltName=DNS:{name}{local}\nextendedKeyUsage=serverAuth,clientAuth\n", "utf-8"
    )
    subject = f"/CN={name}" if common_name else "/O=Twigcast"
    openssl(
        *("req", *_CURVE, "-subj", subject, "-keyout", str(made.key), "-out", str(request)),
    )
    openssl(
        *("x509", "-req", "-days", "2", "-in", str(request), "-out", str(made.certificate)),
        *("-CA", str(authority.certificate), "-CAkey", str(authority.key), "-CAcreateserial"),
        *("-extfile", str(extensions)),
    )
    return made


def openssl(*arguments: str) -> None:
    """Run the command; the test fails with its reason where it cannot."""
    if shutil.which("openssl") is None:
        pytest.fail("the openssl command is missing; install it to run the tests of TLS")
    done = subprocess.run(["openssl", *arguments], capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
