"""A server on this machine: on loopback it answers only requests addressed to loopback.

A page in a browser can have its own name resolve to this machine (DNS rebinding); a request under a foreign name, or
from a page of another origin, is refused.
"""

import ipaddress
import logging
import socket
import threading
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from socketserver import ThreadingMixIn
from typing import Any
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

from uhebo.report.text import ReportError, clean

logger = logging.getLogger("uhebo")

Wsgi = Callable[[dict[str, Any], Any], Iterable[bytes]]


class _Server(ThreadingMixIn, WSGIServer):
    daemon_threads = True


class _Server6(_Server):
    address_family = socket.AF_INET6


class _Handler(WSGIRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        logger.debug("server: " + format, *args)


@dataclass(frozen=True)
class Serving:
    """A running server: its address, and how to wait for it or end it."""

    server: WSGIServer
    thread: threading.Thread

    @property
    def url(self) -> str:
        host, port = str(self.server.server_address[0]), self.server.server_address[1]
        return f"http://{f'[{host}]' if ':' in host else host}:{port}/"

    def wait(self) -> None:
        """Until it is stopped, or Ctrl-C."""
        while self.thread.is_alive():
            self.thread.join(0.5)

    def stop(self) -> None:
        self.server.shutdown()
        self.thread.join()
        self.server.server_close()


def listen(app: Wsgi, host: str, port: int, name: str) -> Serving:
    """Serve `app` in a thread; on loopback, to this machine under its own names only."""
    try:
        kind = _Server6 if ":" in host else _Server
        served = _guarded(app) if is_loopback(host) else app
        server = make_server(host, port, served, server_class=kind, handler_class=_Handler)
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or error
        raise ReportError(
            f"cannot listen on {clean(host)} port {port}: {reason}; choose another port (0 takes a free one)"
        ) from error
    thread = threading.Thread(target=server.serve_forever, name=f"uhebo-{name}", daemon=True)
    thread.start()
    return Serving(server, thread)


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach a server on this host; an empty or unknown name counts as no."""
    try:
        return ipaddress.ip_address(host.strip("[]")).is_loopback
    except ValueError:
        return host.lower() == "localhost"


def _guarded(app: Wsgi) -> Wsgi:
    """Refuse requests under a foreign name, or from a page of another origin."""

    def guarded(environ: dict[str, Any], start_response: Any) -> Iterable[bytes]:
        host = str(environ.get("HTTP_HOST", ""))
        name = host[1:].partition("]")[0] if host.startswith("[") else host.partition(":")[0]
        origin = str(environ.get("HTTP_ORIGIN", ""))
        if is_loopback(name) and (not origin or origin == f"http://{host}"):
            return app(environ, start_response)
        start_response("403 Forbidden", [("Content-Type", "text/plain; charset=utf-8")])
        return [b"This page answers this machine only.\n"]

    return guarded
