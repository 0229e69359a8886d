"""What the benchmark contains: authored files in bench/data, loaded and checked. See docs/catalogue.md."""

from bench.catalogue.load import Catalogue, CatalogueError, load_catalogue
from bench.catalogue.scenario import Scenario
from bench.catalogue.schema import Dimension, Domain, Person, State, Value
from bench.catalogue.texts import Text

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
