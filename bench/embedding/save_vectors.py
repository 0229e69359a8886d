"""`python -m bench.embedding.save_vectors FILE [URL]`: what the running embedding server was asked, as a file."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from urllib.parse import urljoin

import httpx

from bench.files import write_file


def main(arguments: list[str]) -> int:
    if not arguments:
        print("usage: python -m bench.embedding.save_vectors FILE [URL]", file=sys.stderr)
        return 2
    home = Path(os.environ.get("IBA_HOME") or ".iba")
    try:
        url = arguments[1] if len(arguments) > 1 else json.loads((home / "run" / "embeddings.json").read_text())["url"]
        answer = httpx.get(urljoin(url, "/vectors"), timeout=60).raise_for_status()
    except (OSError, httpx.HTTPError) as error:
        print(f"error: no embedding server answers ({error}); run `make demo` first", file=sys.stderr)
        return 1
    write_file(Path(arguments[0]), answer.content)
    print(f"wrote {arguments[0]}: {len(answer.content)} bytes", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
