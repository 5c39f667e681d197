#!/usr/bin/python3
# SPDX-License-Identifier: Apache-2.0
"""Asks cuttle serve as OpenAI's own Python client does: models, completions, chats, streams, errors, private jobs.

usage: clients.py URL SOCKET FOLDER. One server has been started at URL with keys, and one at the Unix socket without.
FOLDER has use.key, officer.key and refs.jsonl; results.jsonl and receipt.json are left there.
Each line of CASES is a sentence and a function that is true where it holds. It exits 1 with those that do not.
"""
import json
import os
import sys
import time

import openai

URL, SOCKET, FOLDER = sys.argv[1:4]


def read(name):
    with open(os.path.join(FOLDER, name), encoding="utf-8") as file:
        return file.read().strip()


def connect(key, **more):
    return openai.OpenAI(base_url=URL + "/v1", api_key=key, max_retries=0, timeout=120, **more)


client, officer = connect(read("use.key")), connect(read("officer.key"))
MODEL = client.models.list().data[0].id
CHAT = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "How are lungs?"}]


def refusal(call, kind, code, status):
    """Whether the call raises what the client has for this status, with our code in it."""
    try:
        call()
    except kind as error:
        return (error.code, error.status_code) == (code, status) or print(f"   {error.code} {error.status_code}: {error}")
    return False


def complete(prompt="Patient 7", **more):
    return client.completions.create(**{"model": MODEL, "prompt": prompt, "max_tokens": 8, "seed": 1, **more})


def chat(messages=None, **more):
    return client.chat.completions.create(**{"model": MODEL, "messages": messages or CHAT, "max_completion_tokens": 8, "seed": 1, **more})


def text(answer):
    return answer.choices[0].text


def said(answer):
    return answer.choices[0].message.content


def streamed_chat(**more):
    parts = list(chat(stream=True, **more))
    return parts, "".join(part.choices[0].delta.content or "" for part in parts if part.choices)


def streamed(**more):
    parts = list(complete(stream=True, **more))
    return parts, "".join(part.choices[0].text for part in parts if part.choices)


def stops():
    """The model writes bytes that are no letters, too; a stop string must be one that a client can send."""
    for seed in range(20):
        whole = text(complete(seed=seed, max_tokens=16))
        letters = [letter for letter in whole if letter.isascii() and letter.isprintable()]
        if letters:
            return text(complete(seed=seed, max_tokens=16, stop=[letters[-1]])) == whole[:whole.index(letters[-1])]
    return False


def early():
    """A client that leaves in the middle of a stream."""
    stream = chat(stream=True, max_completion_tokens=200)
    next(iter(stream))
    stream.close()
    return text(complete()) == text(complete())


def raw(method, path, key="use.key", **more):
    """A request for which the client has no function, through the same connection."""
    asking = client if key == "use.key" else officer
    return getattr(asking, method)(path, cast_to=object, **more)


def body_of(call, kind):
    try:
        call()
    except kind as error:
        return error.body
    return {}


PLAN = {"type": "generate", "dataset": "notes", "references": {"format": "jsonl", "text_field": "text"},
        "plan": {"num": 3, "batch_size": 3, "epsilon": 5, "max_tokens": 16, "temperature": 0.8, "kind": "note"}}
made = {}


def dry_run():
    answer = raw("post", "/jobs", body={**PLAN, "dry_run": True})
    return answer["id"] is None and answer["budget"]["fits"] and answer["references_needed"] == 9 and answer["guarantee"]["sentence"]


def make_job():
    answers = [raw("post", "/jobs", body=PLAN, options={"headers": {"Idempotency-Key": "one"}}) for _ in range(2)]
    made["id"] = answers[0]["id"]
    return answers[0]["id"] == answers[1]["id"] and answers[0]["status"] == "awaiting_references"


def same_key_other_plan():
    other = {**PLAN, "plan": {**PLAN["plan"], "num": 2}}
    return refusal(lambda: raw("post", "/jobs", body=other, options={"headers": {"Idempotency-Key": "one"}}),
                   openai.ConflictError, "idempotency_key_reused", 409)


def send(path, data):
    """Bytes as they are: the client encodes bodies, so its own connection is used."""
    return client._client.put(URL + "/v1" + path, content=data, headers={"Authorization": "Bearer " + read("use.key")})


def over():
    """The path that starts a job that the budget does not allow."""
    job = raw("post", "/jobs", body={**PLAN, "plan": {**PLAN["plan"], "epsilon": 100000}}, options={"headers": {"Idempotency-Key": "over"}})
    with open(os.path.join(FOLDER, "refs.jsonl"), "rb") as file:
        send("/jobs/" + job["id"] + "/references", file.read())
    return job["id"] + "/start"


def run_job():
    path = "/jobs/" + made["id"]
    with open(os.path.join(FOLDER, "refs.jsonl"), "rb") as file:
        assert send(path + "/references", file.read()).status_code == 204
    raw("post", path + "/start")
    end = time.monotonic() + 100
    while raw("get", path)["status"] not in ("done", "failed", "cancelled") and time.monotonic() < end:
        time.sleep(0.1)
    for name in ("results", "receipt"):
        with open(os.path.join(FOLDER, "results.jsonl" if name == "results" else "receipt.json"), "wb") as file:
            file.write(client._client.get(URL + "/v1" + path + "/" + name, headers={"Authorization": "Bearer " + read("use.key")}).content)
    return raw("get", path)["status"] == "done"


def follow_job():
    """All events of a job, also after it has ended; the last one says so."""
    with client._client.stream("GET", URL + "/v1/jobs/" + made["id"] + "/events", headers={"Authorization": "Bearer " + read("use.key")}) as answer:
        told = [json.loads(line[6:]) for line in answer.iter_lines() if line.startswith("data: ")]
    return told and told[-1]["status"] == "done" and told[-1]["texts_done"] == 3


def by_socket():
    """Through the Unix socket, where whoever may open it needs no key."""
    import httpx2
    other = openai.OpenAI(base_url="http://localhost/v1", api_key="none", max_retries=0,
                          http_client=openai.DefaultHttpxClient(transport=httpx2.HTTPTransport(uds=SOCKET)))
    parts = list(other.chat.completions.create(model=MODEL, messages=CHAT, max_completion_tokens=8, seed=1, stream=True))
    return other.models.list().data[0].id == MODEL and "".join(part.choices[0].delta.content or "" for part in parts) == said(chat())


CASES = [
    ("models are a list", lambda: client.models.list().object == "list" and client.models.list().data[0].owned_by == "cuttle"),
    ("one model by its name", lambda: client.models.retrieve(MODEL).id == MODEL),
    ("no model by another name", lambda: refusal(lambda: client.models.retrieve("gpt-4"), openai.NotFoundError, "model_not_found", 404)),
    ("a completion", lambda: complete().object == "text_completion" and isinstance(text(complete()), str)),
    ("its name begins as OpenAI's", lambda: complete().id.startswith("cmpl-")),
    ("its model is said", lambda: complete().model == MODEL),
    ("as many tokens as asked for", lambda: complete(max_tokens=5).usage.completion_tokens <= 5),
    ("sixteen tokens by default", lambda: complete(max_tokens=None).usage.completion_tokens <= 16),
    ("usage adds up", lambda: (lambda usage: usage.prompt_tokens + usage.completion_tokens == usage.total_tokens)(complete().usage)),
    ("a cut completion says length", lambda: complete(max_tokens=1).choices[0].finish_reason == "length"),
    ("a seed repeats", lambda: text(complete(seed=7)) == text(complete(seed=7))),
    ("temperature 0 repeats without a seed", lambda: text(complete(temperature=0, seed=None)) == text(complete(temperature=0, seed=None))),
    ("top_p next to nothing is temperature 0", lambda: text(complete(top_p=1e-9)) == text(complete(temperature=0))),
    ("top_k 1 is temperature 0", lambda: text(complete(extra_body={"top_k": 1})) == text(complete(temperature=0))),
    ("a stop string ends a text and is not in it", stops),
    ("a stream is the same text", lambda: streamed()[1] == text(complete())),
    ("a stream ends with its reason", lambda: streamed()[0][-1].choices[0].finish_reason in ("length", "stop")),
    ("a list of one prompt", lambda: text(complete(prompt=["Patient 7"])) == text(complete())),
    ("a chat", lambda: chat().object == "chat.completion" and chat().choices[0].message.role == "assistant" and isinstance(said(chat()), str)),
    ("a chat's text in parts", lambda: said(chat([{"role": "user", "content": [{"type": "text", "text": "Hi"}]}])) == said(chat([{"role": "user", "content": "Hi"}]))),
    ("max_tokens in a chat, as older clients say", lambda: said(chat(max_completion_tokens=None, max_tokens=8)) == said(chat())),
    ("a chat's stream is the same text", lambda: streamed_chat()[1] == said(chat())),
    ("its first part has the role", lambda: streamed_chat()[0][0].choices[0].delta.role == "assistant"),
    ("its last part has the reason", lambda: streamed_chat()[0][-1].choices[0].finish_reason in ("length", "stop")),
    ("include_usage is a part without choices", lambda: (lambda last: not last.choices and last.usage.completion_tokens <= 8)(
        streamed_chat(stream_options={"include_usage": True})[0][-1])),
    ("user, metadata and store are ignored", lambda: said(chat(user="somebody", metadata={"a": "b"}, store=False)) == said(chat())),
    ("who leaves a stream harms nobody", early),
    ("an empty prompt is no error of the server", lambda: refusal(lambda: complete(prompt=""), openai.BadRequestError, "invalid_value", 400) or
     isinstance(text(complete(prompt="")), str)),
    ("a wrong key", lambda: refusal(lambda: connect("nobody.wrong").models.list(), openai.AuthenticationError, "invalid_api_key", 401)),
    ("another model", lambda: refusal(lambda: complete(model="gpt-4"), openai.NotFoundError, "model_not_found", 404)),
    ("a value out of range", lambda: refusal(lambda: complete(temperature=9), openai.BadRequestError, "invalid_value", 400)),
    ("the value is named", lambda: body_of(lambda: complete(temperature=9), openai.BadRequestError).get("param") == "temperature"),
    ("tools are not there", lambda: refusal(lambda: chat(tools=[{"type": "function", "function": {"name": "f"}}]), openai.BadRequestError,
                                            "unsupported_parameter", 400)),
    ("two answers are not there", lambda: refusal(lambda: chat(n=2), openai.BadRequestError, "unsupported_parameter", 400)),
    ("a prompt that does not fit", lambda: refusal(lambda: complete("lungs " * 5000), openai.BadRequestError, "context_length_exceeded", 400)),
    ("privacy is a job's", lambda: refusal(lambda: complete(extra_body={"privacy": {"epsilon": 1}}), openai.BadRequestError, "unsupported_parameter", 400)),
    ("through the Unix socket", by_socket),
    ("what a job would promise", dry_run),
    ("a job, and the same one again", make_job),
    ("the same key for another job", same_key_other_plan),
    ("a job too many for the budget", lambda: refusal(lambda: raw("post", "/jobs/" + over(), body=None), openai.PermissionDeniedError,
                                                      "insufficient_privacy_budget", 403)),
    ("a job from references to receipt", run_job),
    ("its events", follow_job),
    ("its budget", lambda: raw("get", "/budget/notes")["runs"] == 1),
    ("entries are for officers", lambda: refusal(lambda: raw("get", "/ledger/notes/entries"), openai.PermissionDeniedError, "forbidden_role", 403)),
    ("and officers see them", lambda: len(raw("get", "/ledger/notes/entries", "officer.key")["data"]) >= 2),
    ("the chain holds", lambda: raw("post", "/ledger/verify", "officer.key", body={})["ok"]),
]


broken = 0
for sentence, holds in CASES:
    try:
        good, why = bool(holds()), ""
    except Exception as error:  # whatever it is, the case does not hold
        good, why = False, f": {type(error).__name__}: {error}"
    if not good:
        broken += 1
        print(f"clients.py: does not hold: {sentence}{why}"[:400])
print(f"{len(CASES) - broken} of {len(CASES)} cases hold, openai {openai.__version__}")
sys.exit(1 if broken else 0)
