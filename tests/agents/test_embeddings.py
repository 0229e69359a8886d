"""The embedding client against the embedded model's real server."""

from __future__ import annotations

import json
import threading

import httpx
import numpy as np
import pytest
from openai import OpenAI

from agents.model.embeddings import EmbeddingClient, EmbeddingRejected, EmbeddingUnavailable
from bench.embedding.server import MODEL
from tests.agents.support import Script

TEXTS = ["She sleeps at the window.", "ugh. 3rd time.", "Der Zug nach Köln fällt aus", "aisle seat, row 14"]


@pytest.fixture
def client(embeddings_url):
    return EmbeddingClient(embeddings_url, MODEL)


def post(url, body):
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    answer = httpx.post(f"{url}/embeddings", content=content, timeout=30)
    return answer.status_code, answer.json()


def test_vectors_are_unit_float32_and_in_the_order_of_the_texts(client):
    rows = client.embed(TEXTS, kind="passage")
    assert (rows.shape, rows.dtype) == ((4, 384), np.float32)
    assert np.linalg.norm(rows, axis=1) == pytest.approx(1, abs=1e-5)
    backwards = client.embed(TEXTS[::-1], kind="passage")
    assert np.allclose(rows, backwards[::-1], atol=1e-5)


def test_a_passage_that_answers_the_query_is_nearest(client):
    passages = client.embed(["The crown comes off on Tuesday.", "We cut two trees in the garden."], kind="passage")
    query = client.embed(["dentist appointment"], kind="query")[0]
    first, second = passages @ query
    assert first > second


def test_a_query_and_a_passage_of_the_same_text_differ(client):
    query, passage = (client.embed(["aisle"], kind=kind)[0] for kind in ("query", "passage"))
    assert query @ passage < 0.999


def test_more_texts_than_a_batch_come_back_whole(embeddings_url):
    texts = [f"note {number}" for number in range(7)] + ["note 0"]
    small = EmbeddingClient(embeddings_url, MODEL, batch=3).embed(texts, kind="passage")
    large = EmbeddingClient(embeddings_url, MODEL).embed(texts, kind="passage")
    assert np.allclose(small, large, atol=1e-3)
    assert np.array_equal(small[0], small[7])


def test_no_texts_need_no_server():
    assert EmbeddingClient("http://127.0.0.1:9/v1", MODEL).embed([], kind="query").shape == (0, 0)


def test_odd_texts_do_not_stop_the_model(client):
    rows = client.embed(["", "a\0b", "a" * 20_000, "\u202e🙂"], kind="passage")
    assert np.isfinite(rows).all()
    # What the model can't read, beyond 512 tokens, changes nothing.
    assert np.array_equal(rows[2], client.embed(["a" * 30_000], kind="passage")[0])
    # A NUL does not end the text.
    assert not np.allclose(rows[1], client.embed(["a"], kind="passage")[0], atol=1e-4)


def test_floats_and_base64_are_the_same_numbers(embeddings_url):
    openai = OpenAI(base_url=embeddings_url, api_key="none")
    in_floats, in_base64 = (
        openai.embeddings.create(model=MODEL, input="aisle", **more).data[0].embedding
        for more in ({"encoding_format": "float"}, {})
    )
    assert in_floats == pytest.approx(in_base64)


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        (b"{", "not JSON"),
        ([], "must be a JSON object"),
        ({"input": []}, "1 to 2048 texts, got 0"),
        ({"input": ["a"] * 2049}, "1 to 2048 texts, got 2049"),
        ({"input": [[1, 2]]}, "token ids are not taken"),
        ({"input": "a", "dimensions": 64}, "must be 384"),
        ({"input": "a", "encoding_format": "hex"}, "'float' or 'base64'"),
        ({"input": "a", "input_type": "title"}, "'query' or 'passage'"),
    ],
)
def test_bad_requests_are_told_what_would_be_right(embeddings_url, body, problem):
    status, answer = post(embeddings_url, body)
    assert status == 400
    assert problem in answer["error"]["message"]


def test_a_lone_surrogate_is_embedded_all_the_same(embeddings_url):
    assert post(embeddings_url, b'{"input": "a\\ud800"}')[0] == 200


def test_many_threads_get_their_own_vectors(client):
    alone = {text: client.embed([text], kind="passage")[0] for text in TEXTS}
    wrong = []

    def work(text):
        if not np.array_equal(client.embed([text], kind="passage")[0], alone[text]):
            wrong.append(text)

    threads = [threading.Thread(target=work, args=(TEXTS[number % 4],)) for number in range(32)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong


def test_a_server_that_is_not_there_is_named_with_the_remedy():
    with pytest.raises(EmbeddingUnavailable, match=r"127\.0\.0\.1:9/v1 can't be reached .*make serve"):
        EmbeddingClient("http://127.0.0.1:9/v1", MODEL).embed(["a"], kind="query")


def test_a_refusal_does_not_show_the_key(script: Script):
    script.answers = [(400, {}, {"error": {"message": "bad key sk-secret"}})]
    with pytest.raises(EmbeddingRejected, match=r"\[key\]") as caught:
        EmbeddingClient(script.url, MODEL, "sk-secret").embed(["a"], kind="query")
    assert "sk-secret" not in str(caught.value)


def test_only_e5_models_are_told_the_kind(script: Script):
    vector = {
        "data": [{"index": 0, "object": "embedding", "embedding": [3.0, 4.0]}],
        "model": "m",
        "object": "list",
    }
    script.answers = [(200, {}, vector)]
    row = EmbeddingClient(script.url, "bge-m3").embed(["a"], kind="query")[0]
    assert row == pytest.approx([0.6, 0.8])  # 3, 4 over 5
    EmbeddingClient(script.url, "multilingual-e5-large").embed(["a"], kind="query")
    assert [sent.get("input_type") for sent in script.requests] == [None, "query"]


def test_an_answer_with_too_few_vectors_is_refused(script: Script):
    vector = {
        "data": [{"index": 0, "object": "embedding", "embedding": [1.0]}],
        "model": "m",
        "object": "list",
    }
    script.answers = [(200, {}, vector)]
    with pytest.raises(EmbeddingRejected, match="1 vectors of one length for 2 texts"):
        EmbeddingClient(script.url, "bge-m3").embed(["a", "b"], kind="query")
