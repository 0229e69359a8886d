from __future__ import annotations

from django.urls import path, re_path

from bench.pages.views import account, compare, datasets, overview, runs, search, trajectories

urlpatterns = [
    path("", overview.dashboard, name="dashboard"),
    path("domains/<slug:slug>/", overview.domain, name="domain"),
    path("runs/", runs.run_list, name="run-list"),
    path("runs/new/", runs.run_new, name="run-new"),
    path("runs/new/units/", runs.run_units, name="run-units"),
    path("runs/<id:pk>/", runs.run_detail, name="run-detail"),
    re_path(r"^runs/(?P<pk>[0-9]{1,18})/(?P<verb>pause|resume|cancel|retry)/$", runs.run_act, name="run-act"),
    path("runs/<id:pk>/budget/", runs.run_budget, name="run-budget"),
    path("compare/", compare.compare, name="compare"),
    path("trajectories/", trajectories.trajectory_list, name="trajectory-list"),
    path("trajectories/<id:pk>/", trajectories.trajectory, name="trajectory"),
    path("datasets/", datasets.dataset_list, name="dataset-list"),
    path("datasets/<slug:name>/", datasets.dataset, name="dataset"),
    path("datasets/<slug:name>/personas/<slug:slug>/", datasets.persona, name="persona"),
    re_path(
        r"^datasets/(?P<name>[-\w]+)/checkpoints/(?P<pk>[0-9]{1,18})/(?P<verb>retire|put-back)/$",
        datasets.erratum,
        name="erratum",
    ),
    path("account/", account.account, name="account"),
    path("account/tokens/<id:pk>/revoke/", account.account_revoke, name="account-revoke"),
    path("search/", search.search, name="search"),
]
