"""Roles are groups that are always there."""

import pytest
from django.contrib.auth.models import Group
from django.core.management import call_command

from bench.access import Role


@pytest.mark.django_db(transaction=True)
def test_the_roles_are_there_again_after_the_database_was_emptied():
    call_command("flush", interactive=False, verbosity=0)
    assert set(Group.objects.values_list("name", flat=True)) == {role.value for role in Role}
