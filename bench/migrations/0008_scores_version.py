"""Every run counts the changes of what its numbers are made of, and forgets the numbers that it kept."""

from django.db import migrations, models

FORWARD = """
CREATE FUNCTION bench_forget_results() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE bench_run SET scores_version = scores_version + 1, results = NULL, agreement = NULL WHERE id IN (
        SELECT unit.run_id FROM changed
        JOIN bench_trajectory trajectory ON trajectory.id = changed.trajectory_id
        JOIN bench_unit unit ON unit.id = trajectory.unit_id
    );
    RETURN NULL;
END $$;
CREATE TRIGGER verdict_added AFTER INSERT ON bench_verdict
    REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION bench_forget_results();
CREATE TRIGGER score_added AFTER INSERT ON bench_checkpointscore
    REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION bench_forget_results();
CREATE TRIGGER score_changed AFTER UPDATE ON bench_checkpointscore
    REFERENCING NEW TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION bench_forget_results();
CREATE TRIGGER score_deleted AFTER DELETE ON bench_checkpointscore
    REFERENCING OLD TABLE AS changed FOR EACH STATEMENT EXECUTE FUNCTION bench_forget_results();

CREATE FUNCTION bench_forget_results_of_unit() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    UPDATE bench_run SET scores_version = scores_version + 1, results = NULL, agreement = NULL WHERE id = NEW.run_id;
    RETURN NULL;
END $$;
CREATE TRIGGER unit_failed_or_waits_again AFTER UPDATE OF status ON bench_unit
    FOR EACH ROW WHEN ((OLD.status = 'failed') <> (NEW.status = 'failed'))
    EXECUTE FUNCTION bench_forget_results_of_unit();
"""
BACKWARD = """
DROP TRIGGER unit_failed_or_waits_again ON bench_unit;
DROP FUNCTION bench_forget_results_of_unit();
DROP TRIGGER score_deleted ON bench_checkpointscore;
DROP TRIGGER score_changed ON bench_checkpointscore;
DROP TRIGGER score_added ON bench_checkpointscore;
DROP TRIGGER verdict_added ON bench_verdict;
DROP FUNCTION bench_forget_results();
"""


class Migration(migrations.Migration):
    dependencies = [("bench", "0007_verdict_anchor")]
    operations = [
        migrations.AddField(
            model_name="run",
            name="scores_version",
            field=models.PositiveBigIntegerField(default=0, help_text="counted up by triggers; see scoring/kept.py"),
        ),
        migrations.RunSQL(FORWARD, BACKWARD),
    ]
