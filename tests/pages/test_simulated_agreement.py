"""Who agrees with whom about a simulated agent says so, whoever judges."""

from bench.models import Verdict
from bench.results.agreement_report import agreement_of
from tests.pages.conftest import finish, make_run


def test_a_simulated_agent_marks_the_report_also_where_its_judges_are_real(viewer, dataset):
    run = finish(make_run(dataset), simulated=True)
    assert not Verdict.objects.filter(simulated=True).exists()
    assert agreement_of(run)["simulated"] is True
    assert "badge-simulated" in viewer.get("/agreement/", {"run": run.pk}).content.decode()
