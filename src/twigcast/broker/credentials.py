"""TLS: from the files of a configuration to what gRPC and the HTTP port want.

    [tls] certificate, key ──► server_credentials ──► gRPC port
                           ├─► server_context ──────► HTTP port
          ca ──────────────┴─► channel_credentials ─► links to other brokers
    peer's certificate ──────► certificate_names ───► Access.identify

Python's ssl reads the files first, whoever they are for: it says what is wrong with them, where
gRPC would serve nobody without a word.  Whether a certificate has expired, or is made out to
another host, is for the peers to find.

Clients' certificates are asked for only where they are required; gRPC's servers cannot ask for one
that may be missing.
"""

from __future__ import annotations

import ssl
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Final, NoReturn

import grpc

from twigcast.broker.config_sections import BrokerConfig, TlsConfig
from twigcast.errors import ConfigError

_ALTERNATIVE: Final = "x509_subject_alternative_name"
_COMMON: Final = "x509_common_name"


def server_credentials(config: BrokerConfig) -> grpc.ServerCredentials | None:
    """What the gRPC port is opened with; None where there is no TLS."""
    tls = config.tls
    if server_context(config) is None or tls.certificate is None or tls.key is None:
        return None
    pair = (_read("tls.key", tls.key), _read("tls.certificate", tls.certificate))
    if not tls.require_client_certificate or tls.ca is None:
        return grpc.ssl_server_credentials([pair])
    return grpc.ssl_server_credentials([pair], _read("tls.ca", tls.ca), require_client_auth=True)


def channel_credentials(config: BrokerConfig) -> grpc.ChannelCredentials | None:
    """What links are called with; None where there is no TLS.

    Without an authority of their own, the other brokers' certificates are checked as those of web
    servers are.
    """
    tls = config.tls
    if not tls.is_used:
        return None
    _load(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), tls)
    return grpc.ssl_channel_credentials(
        None if tls.ca is None else _read("tls.ca", tls.ca),
        None if tls.key is None else _read("tls.key", tls.key),
        None if tls.certificate is None else _read("tls.certificate", tls.certificate),
    )


def server_context(config: BrokerConfig) -> ssl.SSLContext | None:
    """What the HTTP port is opened with; None where there is no TLS."""
    tls = config.tls
    if tls.certificate is None:
        return None
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if tls.require_client_certificate:
        context.verify_mode = ssl.CERT_REQUIRED
    _load(context, tls)
    return context


def certificate_names(auth_context: Mapping[str, Iterable[bytes]]) -> tuple[str, ...]:
    """Whom the peer's certificate names, from gRPC's ``auth_context()``; empty without one.

    These are the common names or, in a certificate without any, the alternative ones.
    """
    for key in (_COMMON, _ALTERNATIVE):
        names = [name.decode("utf-8", "replace") for name in auth_context.get(key, ()) if name]
        if names:
            return tuple(names)
    return ()


def _load(context: ssl.SSLContext, tls: TlsConfig) -> None:
    """Read all files of a section into ``context``, and say what is wrong with them."""
    if tls.ca is not None:
        _load_certificates(context, "tls.ca", tls.ca)
    if tls.certificate is None or tls.key is None:
        return
    # gRPC does not say which of the two files is wrong.
    _load_certificates(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), "tls.certificate", tls.certificate)
    _read("tls.key", tls.key)
    key = tls.key

    def on_encrypted() -> NoReturn:
        _refuse("tls.key", key, "the key is encrypted; write it without a passphrase")

    try:
        context.load_cert_chain(tls.certificate, key, on_encrypted)
    except ssl.SSLError as error:
        if error.reason == "KEY_VALUES_MISMATCH":
            _refuse("tls.key", key, f"this is not the key of {tls.certificate}; name that one")
        if error.reason and "TOO_SMALL" in error.reason:
            _refuse("tls.certificate", tls.certificate, "its key is too short; make a longer one")
        _refuse("tls.key", key, "there is no private key in PEM form in it; name another file")


def _load_certificates(context: ssl.SSLContext, where: str, path: Path) -> None:
    _read(where, path)
    try:
        context.load_verify_locations(path)
    except ssl.SSLError:
        _refuse(where, path, "there is no certificate in PEM form in it; name another file")


def _read(where: str, path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        _refuse(where, path, f"{error.strerror or error}; correct the path or who may read it")


def _refuse(where: str, path: Path, reason: str) -> NoReturn:
    raise ConfigError(f"{path}: {reason}", where=where) from None
