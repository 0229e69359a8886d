"""What servers and models send back: bodies that are no completion, reasoning, several objects, odd numbers."""

from __future__ import annotations

import datetime as dt
import ipaddress
import json
import ssl
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from agents.contract import BadReply, EndpointAway, Usage
from agents.model.endpoints import StoredCall
from agents.model.replies import read_reply
from agents.model.structured import NoObject, extract_object
from agents.toolkit.reasoning import without_reasoning
from tests.agents.asking import ASK, SEAT
from tests.agents.support import completion

OK = (200, {}, completion("fine"))
VERDICT = {
    "type": "object",
    "properties": {"verdict": {"enum": ["pass", "fail"]}},
    "required": ["verdict"],
    "additionalProperties": False,
}


@pytest.mark.parametrize(
    "body", [{"error": {"code": 502}}, {"choices": [], "error": "upstream"}, {"detail": "busy"}, {}, {"choices": None}]
)
def test_an_error_with_status_200_is_an_outage_and_is_never_kept(script, bench, body):
    script.answers = [(200, {}, body), OK]
    assert bench.llm(script.url).complete(ASK, stage="act").text == "fine"
    assert [call.response["choices"] for call in bench.store.calls.values()] == [completion("fine")["choices"]]
    script.answers = [(200, {}, body)]
    with pytest.raises(EndpointAway, match="no completion"):
        bench.llm(script.url).complete(ASK, stage="act", max_tokens=7)


def test_an_error_that_was_kept_as_an_answer_is_not_replayed(script, bench):
    script.answers = [OK]
    bench.llm(script.url).complete(ASK, stage="act")
    (key,) = bench.store.calls
    bench.store.calls[key] = StoredCall({"error": {"code": 502}}, Usage(1, 1, 1, 0.0), 0.1, "act")
    assert bench.llm(script.url).complete(ASK, stage="act").text == "fine"
    assert len(script.requests) == 2


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("<think>aisle?</think>window", "window"),
        ("aisle, I guess</think>window", "window"),
        ("window<think>or the aisle", "window"),
        ("<Thinking>aisle?</THINKING>window", "window"),
        ("aisle</thinking>window<think>or", "window"),
        ("<thought>aisle?</thought>window", "window"),
        ("<reasoning>aisle?</reasoning>window", "window"),
        ("<seed:think>aisle?</seed:think>window", "window"),
        ("[THINK]aisle?[/THINK]window", "window"),
        ("◁think▷aisle?◁/think▷window", "window"),
        ("aisle?[/THINK]window", "window"),
        ("window", "window"),
        ("I think <b>so</b> [think]", "I think <b>so</b> [think]"),
    ],
)
def test_what_a_model_thought_aloud_is_no_part_of_its_answer(text, kept):
    assert without_reasoning(text) == kept
    assert read_reply(completion(text), schema=None, mode=None, max_tokens=9).text == kept


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ('the format is {"verdict": ".."} and so {"verdict": "fail"}', {"verdict": "fail"}),
        ('{"verdict": "pass"}</think>{"verdict": "fail"}', {"verdict": "fail"}),
        ('Format: {} Answer: {"verdict": "pass"}', {"verdict": "pass"}),
        ('{"verdict": "pass"} I repeat: {"verdict": "pass"}', {"verdict": "pass"}),
    ],
)
def test_the_one_object_that_meets_the_schema_counts(text, found):
    assert extract_object(text, VERDICT) == found


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ('{"verdict": "pass"} or {"verdict": "fail"}', "2 different JSON objects"),
        ('{"verdict": "pass", "verdict": "fail"}', "'verdict' is given twice"),
        ('{"verdict": "maybe"}', "maybe"),
    ],
)
def test_what_is_not_one_answer_is_none(text, why):
    with pytest.raises(NoObject, match=why):
        extract_object(text, VERDICT)


@pytest.mark.parametrize("count", [-1, 2**64 - 1, True, 1.5, None, "100"])
def test_a_number_of_tokens_that_cannot_be_is_estimated(script, bench, count):
    body = completion("aisle seat")
    body["usage"]["prompt_tokens"] = count
    script.answers = [(200, {}, body)]
    # 56 characters of [[{"role": "user", "content": "Which seat?"}], null] / 4 and 10 / 4, rounded up
    assert bench.llm(script.url).complete(ASK, stage="act").usage == Usage(1, 13, 3, 0.0, estimated_calls=1)


@pytest.mark.parametrize("number", ["NaN", "Infinity", "-1e999"])
def test_what_is_no_finite_number_in_an_answer_reaches_no_store(script, bench, number):
    body = json.dumps(completion("fine")).replace('"finish_reason"', f'"logprobs": {number}, "finish_reason"')
    script.answers = [(200, {}, body)]
    bench.llm(script.url).complete(ASK, stage="act")
    (call,) = bench.store.calls.values()
    assert call.response["choices"][0]["logprobs"] is None


@pytest.mark.parametrize("arguments", ['{"seat": "aisle", "seat": "window"}', '{"seat": NaN}', '{"seat": 1e999}'])
def test_a_tool_call_whose_arguments_can_be_read_in_two_ways_or_not_be_kept_is_repaired(arguments):
    made = {"id": "c1", "type": "function", "function": {"name": "book", "arguments": arguments}}
    read = read_reply(completion(None, "tool_calls", tool_calls=[made]), schema=None, mode=None, max_tokens=9)
    assert read.tool_calls == ()
    assert read.problem.startswith("the arguments of tool call 0 are not JSON (")


def test_a_part_without_text_says_nothing():
    parts = [{"type": "text", "text": None}, {"type": "text", "text": "aisle"}]
    assert read_reply(completion(parts), schema=None, mode=None, max_tokens=9).text == "aisle"


def test_replies_that_could_not_be_used_were_paid_for(script, bench):
    script.says("no object here")
    with pytest.raises(BadReply) as caught:
        bench.llm(script.url, schema_mode="prompt", price_in_per_mtok_usd=1.0).complete(ASK, stage="act", schema=SEAT)
    # the call and two repairs, 100 tokens at 1 USD per million each
    assert caught.value.usage == Usage(3, 300, 30, pytest.approx(0.0003))


@pytest.mark.parametrize("status", [404, 501])
def test_a_router_that_knows_no_schema_mode_is_asked_in_another(script, bench, status):
    script.answers = [(status, {}, {"error": {"message": f"{what} is not supported"}}) for what in ("schema", "tool")]
    script.answers += [(200, {}, completion('{"seat": "aisle"}'))]
    bench.llm(script.url).complete(ASK, stage="act", schema=SEAT)
    assert "response_format" in script.requests[0]
    assert "response_format" not in script.requests[-1]


@pytest.fixture
def self_signed(tmp_path):
    """The URL of a TLS server whose certificate nobody vouches for, and the connections that reached it."""
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "127.0.0.1")])
    now = dt.datetime.now(dt.UTC)
    certificate = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(key.public_key())
        .serial_number(1)
        .not_valid_before(now - dt.timedelta(days=1))
        .not_valid_after(now + dt.timedelta(days=1))
        .add_extension(x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), False)
        .sign(key, hashes.SHA256())
    )
    pem = tmp_path / "server.pem"
    plain = serialization.NoEncryption()
    private = key.private_bytes(serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, plain)
    pem.write_bytes(private + certificate.public_bytes(serialization.Encoding.PEM))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem)
    server = ThreadingHTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler)
    server.handle_error = lambda *_: None
    server.socket = context.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield f"https://127.0.0.1:{server.server_address[1]}/v1"
    server.shutdown()
    server.server_close()
    thread.join()


def test_a_certificate_that_nobody_vouches_for_is_not_tried_again(self_signed, bench):
    with pytest.raises(EndpointAway, match=r"certificate.*Mend the certificate"):
        bench.llm(self_signed).complete(ASK, stage="act")
    assert not bench.clock.slept
