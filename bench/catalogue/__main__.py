"""`python -m bench.catalogue [domain ...]`: check the authored files and count what they hold."""

from __future__ import annotations

import sys

from bench.catalogue.load import DATA, DOMAINS, CatalogueError, all_texts, load_catalogue


def main(arguments: list[str]) -> int:
    unknown = [name for name in arguments if name not in DOMAINS]
    if unknown:
        print(f"unknown domain {unknown[0]!r}; allowed: {', '.join(DOMAINS)}", file=sys.stderr)
        return 2
    try:
        catalogue = load_catalogue(DATA, tuple(arguments) or DOMAINS)
    except CatalogueError as error:
        print(error, file=sys.stderr)
        print(f"{len(error.faults)} faults", file=sys.stderr)
        return 1
    texts = sum(1 for _ in all_texts(catalogue))
    print(f"{catalogue.counts()}, {texts} texts, data version {catalogue.data_version}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
