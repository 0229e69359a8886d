"""What the benchmark contains: authored files in bench/data, loaded and checked. See docs/catalogue.md."""

from bench.catalogue.load import Catalogue, CatalogueError, load_catalogue
from bench.catalogue.schema import Dimension, Domain, Person, Scenario, State, Text, Value

__all__ = [
    "Catalogue",
    "CatalogueError",
    "Dimension",
    "Domain",
    "Person",
    "Scenario",
    "State",
    "Text",
    "Value",
    "load_catalogue",
]
