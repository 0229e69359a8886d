"""Verdicts can only be added; the four roles exist as groups."""

from django.db import migrations

FORWARD = """
CREATE FUNCTION bench_verdict_is_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'verdicts are append-only: add a new one instead of a % of row %', TG_OP, OLD.id;
END $$;
CREATE TRIGGER verdict_append_only BEFORE UPDATE OR DELETE ON bench_verdict
    FOR EACH ROW EXECUTE FUNCTION bench_verdict_is_append_only();
"""
BACKWARD = "DROP TRIGGER verdict_append_only ON bench_verdict; DROP FUNCTION bench_verdict_is_append_only();"
ROLES = ("admin", "adjudicator", "annotator", "viewer")


def add_roles(apps, schema_editor):
    group = apps.get_model("auth", "Group")
    for name in ROLES:
        group.objects.get_or_create(name=name)


class Migration(migrations.Migration):
    dependencies = [("bench", "0001_initial"), ("auth", "0012_alter_user_first_name_max_length")]
    operations = [
        migrations.RunSQL(FORWARD, BACKWARD),
        migrations.RunPython(add_roles, migrations.RunPython.noop),
    ]
