"""Files of TLS, read by Python's ssl before gRPC sees them: it says what is wrong with them.

gRPC would fail to connect, or serve nobody, without a word.  Whether a certificate has expired, or
is made out to another host, is for the peers to find.
"""

from __future__ import annotations

import os
import ssl
from pathlib import Path
from typing import Final, NamedTuple, NoReturn, TypeAlias

File: TypeAlias = str | os.PathLike[str]

_NO_CERTIFICATE: Final = "there is no certificate in PEM form in it; name another file"


class TlsFileError(Exception):
    """A file that cannot serve; ``kind`` is ``ca``, ``certificate`` or ``key``."""

    def __init__(self, kind: str, file: File, reason: str) -> None:
        self.kind = kind
        super().__init__(f"{os.fspath(file)}: {reason}")


class TlsFiles(NamedTuple):
    """The contents of the files, in PEM form."""

    ca: bytes | None
    certificate: bytes | None
    key: bytes | None


def read_tls_files(ca: File | None, certificate: File | None, key: File | None) -> TlsFiles:
    """The contents of files that can serve; raises TlsFileError for one that cannot."""
    files = TlsFiles(_read("ca", ca), _read("certificate", certificate), _read("key", key))
    for kind, file in (("ca", ca), ("certificate", certificate)):
        if file is not None:
            try:
                ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT).load_verify_locations(cafile=file)
            except ssl.SSLError:
                raise TlsFileError(kind, file, _NO_CERTIFICATE) from None
    if certificate is not None and key is not None:
        _require_pair(certificate, key)
    return files


def _read(kind: str, file: File | None) -> bytes | None:
    try:
        return None if file is None else Path(file).read_bytes()
    except OSError as error:
        reason = f"{error.strerror or error}; correct the path or who may read it"
        raise TlsFileError(kind, file or "", reason) from None


def _require_pair(certificate: File, key: File) -> None:
    def on_encrypted() -> NoReturn:
        raise TlsFileError("key", key, "the key is encrypted; write it without a passphrase")

    try:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.load_cert_chain(certificate, key, on_encrypted)
    except ssl.SSLError as error:
        if error.reason == "KEY_VALUES_MISMATCH":
            reason = f"this is not the key of {os.fspath(certificate)}; name that one"
        elif error.reason and "TOO_SMALL" in error.reason:
            raise TlsFileError(
                "certificate", certificate, "its key is too short; make a longer one"
            ) from None
        else:
            reason = "there is no private key in PEM form in it; name another file"
        raise TlsFileError("key", key, reason) from None
