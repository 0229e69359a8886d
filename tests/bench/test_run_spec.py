"""What a run can be asked to be stands in one place; every door offers all of it."""

from __future__ import annotations

import argparse

import pytest

from bench.management.commands.run_benchmark import add_option
from bench.pages.forms import LaunchForm
from bench.runs.spec import OPTIONS, Kind
from iba_site.api import LaunchIn


@pytest.mark.django_db
def test_the_launch_form_offers_every_option():
    assert set(LaunchForm().fields) == set(OPTIONS)


def test_the_api_takes_every_option_and_says_what_it_means():
    properties = LaunchIn.model_json_schema()["properties"]
    assert set(properties) == set(OPTIONS)
    assert {name: field["description"] for name, field in properties.items()} == {
        name: option.help for name, option in OPTIONS.items()
    }


def test_the_command_has_every_option_with_the_same_default():
    parser = argparse.ArgumentParser()
    for name, option in OPTIONS.items():
        add_option(parser, name, option)
    given = vars(parser.parse_args(["--dataset", "starter", "--model", "offline"]))
    assert set(given) == set(OPTIONS)
    optional = {n: o for n, o in OPTIONS.items() if not o.required and o.kind is not Kind.NAMES}
    assert {name: given[name] for name in optional} == {name: option.default for name, option in optional.items()}
