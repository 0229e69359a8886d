"""The site as it is served: its own web server on the test database, and nginx in front of it."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import httpx
from django.conf import settings

from iba_site.services import process
from tests.bench.live import ROOT, database_url, wait_for

PATIENCE_S = 2  # what a client of these sites has for its headers, and again for its body


@dataclass(frozen=True)
class Site:
    port: int
    url: str
    environment: dict[str, str]

    def dial(self) -> socket.socket:
        return socket.create_connection(("127.0.0.1", self.port), timeout=60)

    def wait(self) -> None:
        """Until it has answered once."""
        with self.browser() as browser:
            browser.get("/healthz")

    def browser(self, **options) -> httpx.Client:
        return httpx.Client(base_url=self.url, timeout=60, trust_env=False, **options)


@contextlib.contextmanager
def served(**environment: str) -> Iterator[Site]:
    """``python -m iba_site.web`` with the settings of a deployment."""
    port = process.free_port()
    given = {
        **os.environ,
        "DATABASE_URL": database_url(),
        "REDIS_URL": settings.REDIS_URL,
        "SECRET_KEY": settings.SECRET_KEY,
        "REQUEST_S": str(PATIENCE_S),
        "DB_POOL": "4",
        "PORT": str(port),
        **environment,
    }
    command = [sys.executable, "-m", "iba_site.web", "--port", str(port)]
    with _running(command, given, port):
        yield Site(port, f"http://127.0.0.1:{port}", given)


@contextlib.contextmanager
def _running(command: list[str], environment: dict[str, str], port: int) -> Iterator[None]:
    running = subprocess.Popen(command, cwd=ROOT, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_for(f"{command[0]} takes connections", lambda: _accepts(port) or running.poll() is not None)
        assert running.poll() is None, f"{command} ended with {running.returncode}"
        yield
    finally:
        running.terminate()
        running.wait()


def _accepts(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def nginx_path() -> str | None:
    """Debian keeps it where only root's PATH looks."""
    return shutil.which("nginx") or next((p for p in ("/usr/sbin/nginx",) if os.access(p, os.X_OK)), None)


def documented_server_block() -> str:
    """The server block of docs/deployment.md, word for word."""
    text = (ROOT / "docs" / "deployment.md").read_text()
    return re.search(r"```nginx\n(.*?)```", text, re.DOTALL)[1]


@contextlib.contextmanager
def behind_nginx(site: Site, folder: Path) -> Iterator[Site]:
    """nginx with the documented server block, its ports, certificate and paths changed to fit a test."""
    port = process.free_port()
    block = documented_server_block()
    for old, new in (
        ("listen 443 ssl", f"listen 127.0.0.1:{port} ssl"),
        ("/etc/ssl/bench.example.org.pem", f"{folder}/site.pem"),
        ("/etc/ssl/bench.example.org.key", f"{folder}/site.key"),
        ("http://127.0.0.1:8000", site.url),
    ):
        assert old in block, f"docs/deployment.md no longer says {old!r}"
        block = block.replace(old, new)
    _certificate(folder)
    temporary = "\n".join(f"{kind}_temp_path {folder}/{kind};" for kind in ("proxy", "fastcgi", "uwsgi", "scgi"))
    user = "user root;" if os.geteuid() == 0 else ""  # else a worker of nginx may not enter the test's folder
    (folder / "nginx.conf").write_text(
        f"{user} daemon off; pid {folder}/nginx.pid; error_log {folder}/error.log; events {{}}\n"
        f"http {{ access_log off; client_body_temp_path {folder}/body;\n{temporary}\n{block} }}\n"
    )
    command = [str(nginx_path()), "-c", str(folder / "nginx.conf"), "-e", str(folder / "error.log")]
    with _running(command, dict(os.environ), port):
        yield Site(port, f"https://bench.example.org:{port}", site.environment)


def _certificate(folder: Path) -> None:
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
         "-subj", "/CN=bench.example.org", "-days", "1",
         "-keyout", f"{folder}/site.key", "-out", f"{folder}/site.pem"],
        check=True, capture_output=True,
    )  # fmt: skip
