"""A proxy that stands between a client and services it reaches by their real names, encrypted."""

from __future__ import annotations

import socket
import ssl
import subprocess
import threading
from pathlib import Path


def make_certificates(folder: Path, *names: str) -> Path:
    """Return the folder, with `certificate` and `key` for the names and the authority `ca.pem`."""
    folder.mkdir()

    def openssl(*arguments: str) -> None:
        subprocess.run(["openssl", *arguments], cwd=folder, check=True, capture_output=True)

    (folder / "extensions").write_text(f"subjectAltName={','.join(f'DNS:{name}' for name in names)}\n")
    authority = ("-subj", "/CN=authority", "-addext", "basicConstraints=critical,CA:TRUE")
    openssl(
        "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", "ca.key", "-out", "ca.pem", *authority
    )
    openssl(
        "req",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-keyout",
        "key",
        "-out",
        "request",
        "-subj",
        f"/CN={names[0]}",
    )
    signer = ("-CA", "ca.pem", "-CAkey", "ca.key", "-CAcreateserial", "-extfile", "extensions")
    openssl("x509", "-req", "-in", "request", "-out", "certificate", *signer)
    return folder


class Proxy:
    """A proxy that leads every request to one plain server, and ends the encryption itself."""

    def __init__(self, certificates: Path, port: int) -> None:
        self.asked: list[bytes] = []
        self._port = port
        self._context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self._context.load_cert_chain(certificates / "certificate", certificates / "key")
        self._server = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self._server.getsockname()[1]}"
        threading.Thread(target=self._serve, daemon=True).start()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._server.accept()
            except OSError:
                return
            threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        head = b""
        while not head.endswith(b"\r\n\r\n"):
            head += connection.recv(1)
        self.asked.append(head.partition(b"\r\n")[0])
        connection.sendall(b"HTTP/1.1 200 Connected\r\n\r\n")
        try:
            with (
                self._context.wrap_socket(connection, server_side=True) as near,
                socket.create_connection(("127.0.0.1", self._port)) as far,
            ):
                back = threading.Thread(target=self._copy, args=(far, near), daemon=True)
                back.start()
                self._copy(near, far)
                back.join()
        except OSError:
            pass  # the client hangs up as it likes

    @staticmethod
    def _copy(source: socket.socket, target: socket.socket) -> None:
        try:
            while piece := source.recv(65536):
                target.sendall(piece)
            target.shutdown(socket.SHUT_WR)
        except OSError:
            pass

    def close(self) -> None:
        self._server.shutdown(socket.SHUT_RDWR)
        self._server.close()
