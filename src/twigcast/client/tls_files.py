"""Files of TLS, looked at before gRPC sees them: it would only say that connecting fails."""

from __future__ import annotations

import os
import ssl
from pathlib import Path
from typing import TypeAlias

import grpc

File: TypeAlias = str | os.PathLike[str]


class FileProblemError(Exception):
    """What is wrong with a file, which it names."""


def channel_credentials(
    ca: File | None, certificate: File | None, key: File | None
) -> grpc.ChannelCredentials:
    """What encrypts a channel; raises FileProblemError for files that cannot serve.

    Without ``ca`` the authorities that gRPC knows are trusted.
    """
    trusted, own, secret = _content(ca), _content(certificate), _content(key)
    for file in (ca, certificate):
        if file is not None:
            _require_certificate(file)
    if certificate is not None and key is not None:
        _require_pair(certificate, key)
    return grpc.ssl_channel_credentials(trusted, secret, own)


def _content(file: File | None) -> bytes | None:
    if file is None:
        return None
    try:
        return Path(file).read_bytes()
    except OSError as error:
        reason = f"cannot read {os.fspath(file)}: {error.strerror or error}"
        raise FileProblemError(reason) from None


def _require_certificate(file: File) -> None:
    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cafile=file)
    except ssl.SSLError:
        raise FileProblemError(f"there is no certificate in {os.fspath(file)} (PEM)") from None


def _require_pair(certificate: File, key: File) -> None:
    is_encrypted = False

    def no_passphrase() -> str:
        nonlocal is_encrypted
        is_encrypted = True
        return ""

    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_cert_chain(certificate, key, no_passphrase)
    except ssl.SSLError as error:
        name = os.fspath(key)
        if is_encrypted:
            reason = f"the key in {name} is encrypted; take the passphrase off (openssl pkey)"
        elif error.reason == "KEY_VALUES_MISMATCH":
            reason = f"the key in {name} does not fit the certificate in {os.fspath(certificate)}"
        else:
            reason = f"there is no key in {name} (PEM)"
        raise FileProblemError(reason) from None
