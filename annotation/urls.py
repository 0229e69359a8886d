from __future__ import annotations

from django.urls import path

from annotation.views import adjudication, agreement, grading, queue, reading

urlpatterns = [
    path("annotate/", queue.queue, name="annotate"),
    path("annotate/next/", queue.next_assignment, name="next_assignment"),
    path("annotate/batches/new/", queue.new_batch, name="new_batch"),
    path("annotate/readings/new/", reading.new_reading, name="new_reading"),
    path("annotate/read/next/", reading.next_item, name="next_item"),
    path("annotate/read/<id:pk>/", reading.read, name="read"),
    path("annotate/read/<id:pk>/draft/", reading.save_reading, name="save_reading"),
    path("annotate/set-aside/<id:trajectory_id>/put-back/", queue.hand_out_again, name="put_back"),
    path("annotate/<id:pk>/", grading.grade, name="grade"),
    path("annotate/<id:pk>/grades/<id:checkpoint_id>/", grading.save, name="save_grade"),
    path("annotate/<id:pk>/reveal/", grading.reveal, name="reveal"),
    path("adjudicate/", adjudication.cases, name="adjudicate"),
    path("adjudicate/<id:trajectory_id>/<id:checkpoint_id>/", adjudication.case, name="case"),
    path("agreement/", agreement.agreement, name="agreement"),
]
