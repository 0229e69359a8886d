from __future__ import annotations

from django.urls import path

from annotation.views import adjudication, agreement, grading, queue

urlpatterns = [
    path("annotate/", queue.queue, name="annotate"),
    path("annotate/next/", queue.next_assignment, name="next_assignment"),
    path("annotate/batches/new/", queue.new_batch, name="new_batch"),
    path("annotate/set-aside/<int:trajectory_id>/put-back/", queue.hand_out_again, name="put_back"),
    path("annotate/<int:pk>/", grading.grade, name="grade"),
    path("annotate/<int:pk>/grades/<int:checkpoint_id>/", grading.save, name="save_grade"),
    path("annotate/<int:pk>/reveal/", grading.reveal, name="reveal"),
    path("adjudicate/", adjudication.cases, name="adjudicate"),
    path("adjudicate/<int:trajectory_id>/<int:checkpoint_id>/", adjudication.case, name="case"),
    path("agreement/", agreement.agreement, name="agreement"),
]
