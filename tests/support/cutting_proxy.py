"""A TCP proxy on the loopback interface that a test cuts, in one direction or in both."""

from __future__ import annotations

import socket
import threading
from contextlib import suppress


class CuttingProxy:
    """Carries bytes between clients and a server until it is told otherwise."""

    def __init__(self, port: int) -> None:
        self._server = port
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self._pairs: list[tuple[socket.socket, socket.socket]] = []
        self._is_deaf: set[socket.socket] = set()
        self.is_down = False
        """Whether clients that connect are cut off at once."""
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                if self.is_down:
                    client.close()
                    continue
                server = socket.create_connection(("127.0.0.1", self._server))
                self._pairs.append((client, server))
                for source, target in ((client, server), (server, client)):
                    threading.Thread(target=self._carry, args=(source, target), daemon=True).start()

    def _carry(self, source: socket.socket, target: socket.socket) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                if source not in self._is_deaf:
                    target.sendall(data)
        for each in (source, target):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)

    def swallow_answers(self) -> None:
        """What servers say on the connections there are is lost; what clients say arrives."""
        self._is_deaf.update(server for _, server in self._pairs)

    def swallow_requests(self) -> None:
        """What clients say on the connections there are is lost."""
        self._is_deaf.update(client for client, _ in self._pairs)

    def cut_clients(self) -> None:
        """End the connections there are for the clients, who may connect anew."""
        for client, _ in self._pairs:
            with suppress(OSError):
                client.shutdown(socket.SHUT_RDWR)

    def close(self) -> None:
        """Carry nothing more."""
        with suppress(OSError):
            self._listener.shutdown(socket.SHUT_RDWR)  # so that nobody is accepted any more
        self._listener.close()
        for pair in self._pairs:
            for each in pair:
                with suppress(OSError):
                    each.shutdown(socket.SHUT_RDWR)
                each.close()
