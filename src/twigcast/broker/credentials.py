"""TLS: from the files of a configuration to what gRPC and the HTTP port want.

    [tls] certificate, key ──► server_credentials ──► gRPC port
                           ├─► server_context ──────► HTTP port
          ca ──────────────┴─► channel_credentials ─► links to other brokers
    peer's certificate ──────► certificate_names ───► Access.identify

Clients' certificates are asked for only where they are required; gRPC's servers cannot ask for one
that may be missing.
"""

from __future__ import annotations

import ssl
from collections.abc import Iterable, Mapping
from typing import Final

import grpc

from twigcast.broker.config import BrokerConfig, TlsConfig
from twigcast.errors import ConfigError
from twigcast.wire import TlsFileError, TlsFiles, read_tls_files

_ALTERNATIVE: Final = "x509_subject_alternative_name"
_COMMON: Final = "x509_common_name"


def server_credentials(config: BrokerConfig) -> grpc.ServerCredentials | None:
    """What the gRPC port is opened with; None where there is no TLS."""
    files = _read(config.tls)
    if files.certificate is None or files.key is None:
        return None
    pair = (files.key, files.certificate)
    if not config.tls.require_client_certificate:
        return grpc.ssl_server_credentials([pair])
    return grpc.ssl_server_credentials([pair], files.ca, require_client_auth=True)


def channel_credentials(config: BrokerConfig) -> grpc.ChannelCredentials | None:
    """What links are called with; None where there is no TLS.

    Without an authority of their own, the other brokers' certificates are checked as those of web
    servers are.
    """
    if not config.tls.is_used:
        return None
    files = _read(config.tls)
    return grpc.ssl_channel_credentials(files.ca, files.key, files.certificate)


def server_context(config: BrokerConfig) -> ssl.SSLContext | None:
    """What the HTTP port is opened with; None where there is no TLS."""
    tls = config.tls
    if tls.certificate is None:
        return None
    _read(tls)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    if tls.require_client_certificate:
        context.verify_mode = ssl.CERT_REQUIRED
    if tls.ca is not None:
        context.load_verify_locations(tls.ca)
    context.load_cert_chain(tls.certificate, tls.key)
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


def _read(tls: TlsConfig) -> TlsFiles:
    try:
        return read_tls_files(tls.ca, tls.certificate, tls.key)
    except TlsFileError as error:
        raise ConfigError(str(error), where=f"tls.{error.kind}") from None
