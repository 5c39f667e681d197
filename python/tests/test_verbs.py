# SPDX-License-Identifier: Apache-2.0
"""Each verb of the command is a function that runs it."""

from __future__ import annotations

import inspect
import subprocess
from pathlib import Path
from typing import Any, Dict, List

import pytest

import cuttle_dp as cuttle
from cuttle_dp import _command, _run, _verbs

Small = Dict[str, Any]


def catalog() -> Dict[str, Any]:
    import json

    said = subprocess.run(
        [_command.command_path(), "help", "--json"], capture_output=True, check=True
    )
    found: Dict[str, Any] = json.loads(said.stdout)
    return found


def functions() -> Dict[str, Any]:
    """All of them, by the words that they stand for."""
    rooms = [_verbs, *(getattr(cuttle, name) for name in _verbs.SPACES)]
    found = {}
    for room in rooms:
        for name in room.__all__:
            spec = getattr(room, f"_{name.upper()}")
            found[spec.name] = (getattr(room, name), spec)
    return found


def test_every_verb_and_option_is_there() -> None:
    there = functions()
    left_out = {"quiet", "json", "progress"}
    for verb in catalog()["verbs"]:
        words = [f"{verb['name']} {action}" for action in verb["actions"]]
        if verb["name"] not in _verbs.SPACES:
            words.append(verb["name"])
        reached = set()
        for word in words:
            function, spec = there[word]
            assert function.__doc__ and "Example::" in function.__doc__, word
            shown = inspect.signature(function).parameters
            assert set(spec.options) <= set(shown), word
            reached |= {option.name for option in spec.options.values()} | set(spec.operands)
        missing = {option["name"] for option in verb["options"]} - reached - left_out
        assert not missing, f"{verb['name']}: no function takes {missing}"
    public = set(_verbs.__all__) | set(_verbs.SPACES)
    assert public <= set(cuttle.__all__)


def test_version() -> None:
    said = subprocess.run(["cuttle", "--version"], capture_output=True, text=True, check=True)
    assert said.stdout == f"cuttle {cuttle.__version__}\n"


def test_generate(texts: List[str], small: Small) -> None:
    run = cuttle.generate(texts, **small)
    assert len(run.texts) == 3 and all(isinstance(text, str) for text in run.texts)
    assert run.receipt is not None and run.receipt["texts"] == 3 and run.receipt["epsilon"] <= 10
    assert run.lines[0]["index"] == 0 and list(run) == run.texts
    page = run.receipt._repr_html_()
    assert "Guarantee for all 3 texts" in page and "not promised" in page
    plan = cuttle.generate(texts, dry_run=True, **small).plan
    assert plan["batch"] == 2


def test_receipt(texts: List[str], small: Small, tiny: str, tmp_path: Path) -> None:
    run = cuttle.generate(texts, **small)
    assert "these are its bytes" in str(cuttle.receipt.verify(run, model=tiny))
    assert run.receipt is not None
    assert "agrees with itself" in str(cuttle.receipt.verify(run.receipt))
    forged = dict(run.receipt, epsilon=1.0)
    with pytest.raises(cuttle.EvidenceInvalid):
        cuttle.receipt.verify(forged)
    page = cuttle.report(run.receipt, texts=run)
    assert page.text.lower().startswith("<!doctype html") and page._repr_html_()
    assert cuttle.report(run.receipt, json=True)["receipts"]
    cuttle.report(run.receipt, texts=run, evidence=tmp_path / "filed")
    told = (tmp_path / "filed" / "verify.txt").read_text()
    assert "exit code 0: it holds" in told and "these are its bytes" in told
    with pytest.raises(cuttle.EvidenceInvalid):
        cuttle.report(forged, evidence=tmp_path / "forged")
    assert "DOES NOT HOLD" in (tmp_path / "forged" / "dpia.md").read_text()


def test_expand(texts: List[str], small: Small, tiny: str) -> None:
    run = cuttle.generate(texts, **small)
    more = cuttle.expand(run, model=tiny, num=2)
    assert len(more.texts) == 2 and more.receipt is not None and run.receipt is not None
    assert more.receipt["epsilon"] == run.receipt["epsilon"]


def test_evolve(texts: List[str], tiny: str) -> None:
    run = cuttle.evolve(texts, model=tiny, epsilon=3, num=2, generations=1, max_tokens=4)
    assert len(run.texts) == 2 and run.receipt is not None


def test_learn(samples: Path, tiny: str, tmp_path: Path) -> None:
    bias = tmp_path / "notes.bias"
    run = cuttle.learn(samples / "notes.jsonl", model=tiny, epsilon=3, output=bias)
    assert run.output == str(bias) and run.receipt is not None and "notes.bias" in repr(run)
    free = cuttle.generate(model=tiny, batch_size=0, bias=bias, num=2, max_tokens=4)
    assert len(free.texts) == 2


def test_inspect(texts: List[str]) -> None:
    assert cuttle.inspect([*texts, None])["records"] == len(texts) + 1


def test_clusters(samples: Path, tmp_path: Path) -> None:
    file = tmp_path / "topics.clusters"
    cuttle.clusters(samples / "notes.jsonl", clusters=2, output=file)
    assert "cluster" in str(cuttle.clusters_show(file)).lower() or str(cuttle.clusters_show(file))


def test_tag_sanitize(tiny: str) -> None:
    letters = ["Call Ada Brook at 555-123-4567.", "Mr. Smith came on 3 May 2021."]
    tagged = cuttle.tag(letters, names=["Ada Brook"])
    assert {span["entity_type"] for span in tagged.lines[0]["spans"]} == {"PERSON", "PHONE_NUMBER"}
    new = cuttle.sanitize(tagged.lines, model=tiny, epsilon=8, max_tokens=6)
    assert len(new.texts) == 2 and new.receipt is not None
    again = cuttle.sanitize(tagged, model=tiny, epsilon=8, max_tokens=6)
    assert len(again.texts) == 2


@pytest.fixture
def words(tmp_path: Path) -> Path:
    vectors, file = tmp_path / "vectors.txt", tmp_path / "words.cw"
    lines = [
        f"word{chr(97 + i // 6)}{chr(97 + i % 6)} "
        + " ".join(str((i * k * 7 % 11) / 11 - 0.5) for k in range(1, 9))
        for i in range(40)
    ]
    vectors.write_text("\n".join(lines) + "\n")
    cuttle.words(vectors=vectors, count=40, output=file)
    return file


def test_words_perturb(words: Path) -> None:
    assert str(cuttle.words(words, near="wordab")).startswith("wordab:")
    run = cuttle.perturb(["wordaa wordab", None], words=words, epsilon=6)
    assert len(run.texts[0].split()) == 2 and run.texts[1] == "" and run.receipt is not None


def test_infer_extract(words: Path, tiny: str, tmp_path: Path) -> None:
    letters = ["wordaa wordab wordac", "wordba wordbb"]
    # A static command has no libcurl: it says so, and sends nothing.
    with pytest.raises(cuttle.CuttleError):
        cuttle.infer(
            letters,
            words=words,
            model=tiny,
            endpoint="http://127.0.0.1:1/v1",
            remote_model="none",
            output=tmp_path / "answered.jsonl",
        )
    replies = [{"index": i, "text": "wordca", "finish": "stop"} for i in range(2)]
    file = tmp_path / "extended.jsonl"
    run = cuttle.extract(letters, model=tiny, replies=replies, output=file, max_tokens=4)
    assert len(run.lines) == 2 and run.output == str(file)


def test_tokens(tiny: str) -> None:
    ids = cuttle.tokenize(["Fever.", "A cough."], model=tiny)
    assert len(ids.lines) == 2 and ids.lines[0]["ids"]
    back = cuttle.detokenize(ids, model=tiny)
    assert back.texts == ["Fever.", "A cough."]
    assert cuttle.detokenize(ids.lines, model=tiny).texts == back.texts
    scores = cuttle.score(["Fever."], model=tiny)
    assert len(scores.lines[0]["logprobs"]) == len(ids.lines[0]["ids"]) - 1


def test_evaluate(texts: List[str], small: Small, tiny: str) -> None:
    run = cuttle.generate(texts, **{**small, "num": 20})
    table = cuttle.evaluate(run, against=texts, model=tiny, private=True, format="json")
    assert table["private"] is True and table["references"] == len(texts)
    assert cuttle.evaluate([run, run.texts[::-1]], against=texts, model=tiny, public=True).text


def test_audit(tiny: str) -> None:
    games = cuttle.audit.canary(
        model=tiny, epsilon=3, batch_size=1, max_tokens=4, games=8, json=True
    )
    assert games["contradicted"] is False


def test_budget() -> None:
    clip = cuttle.budget.clip(epsilon=3, delta=1e-6, batch_size=7, max_tokens=500, temperature=1.2)
    assert float(clip) == clip["clip"] and 0.2 < float(clip) < 0.3
    back = cuttle.budget.epsilon(clip=float(clip), batch_size=7, max_tokens=500, temperature=1.2)
    assert abs(float(back) - 3) < 1e-6
    setting: Dict[str, Any] = {"batch_size": 7, "max_tokens": 500, "temperature": 1.2}
    assert float(cuttle.budget.rho(epsilon=3)) > 0
    assert float(cuttle.budget.delta(epsilon=3, clip=0.2, **setting)) > 0
    assert float(cuttle.budget.tokens(epsilon=3, clip=0.2, batch_size=7, temperature=1.2)) > 500
    assert float(cuttle.budget.batch(epsilon=3, clip=0.2, max_tokens=500, temperature=1.2)) <= 7
    plan = cuttle.budget.plan(epsilon=[1, 3], max_tokens=60, temperature=0.8, format="json")
    assert [row["epsilon"] for row in plan.data][0] == 1
    assert float(cuttle.budget.amplify(epsilon=1, delta=1e-6, q=0.1, inverse=True)["epsilon"]) > 2
    split = cuttle.budget.split(epsilon=3, num=50, batch_size=15, max_tokens=100, records=5000)
    assert 0 < split["share"] < 1
    assert cuttle.budget.fusion(epsilon=8, max_tokens=200, mix="average", groups=3)["rows"] == 3


def test_ledger(texts: List[str], small: Small, tmp_path: Path) -> None:
    book: Dict[str, Any] = {"ledger": tmp_path / "spent.db", "dataset": "notes"}
    cuttle.ledger.init(**book, epsilon_limit=12)
    run = cuttle.generate(
        texts, **{**small, "epsilon": 5, "num": 2}, **book, output=tmp_path / "new.jsonl"
    )
    assert run.receipt is not None and run.receipt["ledger"]
    assert cuttle.ledger.list(ledger=book["ledger"]).data[0]["runs"] == 1
    assert cuttle.ledger.show(**book).data
    assert "notes" in str(cuttle.ledger.history(**book))
    assert cuttle.ledger.verify(ledger=book["ledger"]).text
    assert '"dataset":"notes"' in str(cuttle.ledger.export(ledger=book["ledger"]))
    cuttle.ledger.check(**book, rho=1e-6)
    assert cuttle.ledger.reserve(**book, rho=1e-6, run="0" * 32).text
    with pytest.raises(cuttle.UsageError, match="cannot be given back"):
        cuttle.ledger.release(**book, run="0" * 32)
    key = tmp_path / "officer.key"
    assert len(str(cuttle.ledger.key(sign=key)).strip()) >= 64 and key.exists()


def test_model(tiny: str, tmp_path: Path) -> None:
    assert cuttle.model.info(tiny)["name"] == "tiny"
    assert len(str(cuttle.model.verify(tiny)).split()[0]) == 64
    with pytest.raises(cuttle.CuttleError):
        cuttle.model.convert(input=tmp_path, output=tmp_path / "model.gguf")
    with pytest.raises(cuttle.CuttleError):
        cuttle.model.quantize(input=tmp_path / "none.gguf", output=tmp_path / "q.gguf", type="q8_0")


def test_bench(tiny: str) -> None:
    told = cuttle.bench(
        model=tiny,
        prompt=[8],
        steps=2,
        batch_size=[0, 2],
        repetitions=1,
        no_ceilings=True,
        format="json",
    )
    assert told["machine"]


def test_shards(samples: Path, small: Small, tmp_path: Path) -> None:
    notes, folder = samples / "notes.jsonl", tmp_path / "run"
    folder.mkdir(0o700)
    small = {**small, "num": 4, "ctx_size": 256}
    cuttle.shard.open(notes, **small, output=folder, shards=2)
    for number in range(2):
        cuttle.generate(notes, **small, output=folder, shard=f"{number}/2")
    run = cuttle.merge(folder, output=tmp_path / "merged.jsonl")
    assert len(run.texts) == 4 and run.receipt is not None


def test_serve(tiny: str, tmp_path: Path) -> None:
    keys = tmp_path / "keys"
    with pytest.raises(cuttle.CuttleError):  # a static command has no server
        cuttle.serve_key("otto", "officer", keys=keys)
        cuttle.serve(model=tiny, listen=f"unix:{tmp_path}/none/socket")
    with pytest.raises(cuttle.CuttleError):
        cuttle.serve_trail("verify", tmp_path)


def test_runs_and_answers_show_themselves(texts: List[str], small: Small) -> None:
    run = cuttle.generate(texts, **small)
    assert repr(run).startswith("<cuttle run: 3 texts, epsilon ")
    assert isinstance(run, _run.Run) and len(run) == 3
