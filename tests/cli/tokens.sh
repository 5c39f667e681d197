#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tests `cuttle tokenize`, `detokenize`, `score` and `model info` on the same texts. It fails if
# they disagree, if a file that is no model is not refused at once, if a score behind a prompt is not
# that behind the prompt's words, if a bias does not move it, or if one of another model is taken.
# shellcheck source=/dev/null
. "$(dirname "$(realpath "$0")")/check.bash"
need_model

printf '%s\n' '{"text":"Hello  world\n\t3.14 caf\u00e9 \ud83d\udc19","id":"a"}' '{"text":null}' '{"text":"x","id":9}' \
	'{"text":"The cat sat on the mat."}' >texts.jsonl
exits 0 tokenize -i texts.jsonl -o ids.jsonl
[ "$(wc -l <ids.jsonl)" = 4 ] || fail "tokenize: $(cat ids.jsonl)"
[ "$(sed -n 2p ids.jsonl)" = '{"ids":null}' ] || fail "tokenize: $(cat ids.jsonl)"
exits 0 detokenize -i ids.jsonl
printf '%s\n' '{"text":"Hello  world\n\t3.14 café 🐙"}' '{"text":""}' '{"text":"x"}' '{"text":"The cat sat on the mat."}' >wanted
same out wanted detokenize
"$CUTTLE" tokenize <texts.jsonl | "$CUTTLE" detokenize --raw >raw || fail "pipe"
printf 'Hello  world\n\t3.14 café 🐙xThe cat sat on the mat.' >wanted
same raw wanted "detokenize --raw"
refused 4 detokenize -i texts.jsonl
echo '{"ids":[99999999]}' >far.jsonl
refused 4 detokenize -i far.jsonl
for verb in tokenize detokenize score; do
	read=texts.jsonl
	[ $verb != detokenize ] || read=ids.jsonl
	refused 4 $verb -i /nonexistent
	refused 4 $verb -i .
	refused 2 $verb -i $read -o .
	refused 2 $verb -i $read -o nowhere/out
	"$CUTTLE" $verb -i $read >/dev/full 2>err
	[ $? = 1 ] || fail "$verb: a full disk is not noticed"
done

exits 0 score -i texts.jsonl
[ "$(wc -l <out)" = 5 ] || fail "score lines"
[ "$(sed 's/^{"id":\([^,]*\),.*/\1/' out | head -4 | tr '\n' ' ')" = '"a" 1 9 3 ' ] || fail "score ids: $(cat out)"
tail -1 out >last
says last '^\{"perplexity":[0-9.e+]+,"tokens":[0-9]+\}$'
sed -n 2p out >null
says null '^\{"id":1,"ids":\[\],"logprobs":\[\],"top1":\[\],"perplexity":null\}$'
sed -n 4p out | awk -F'[][]' '{ n = split($2, a, ","); m = split($4, b, ","); k = split($6, c, ","); exit !(n == m + 1 && m == k) }' ||
	fail "score lengths"
exits 0 score -i texts.jsonl -c 4
says err 'longer than 4 tokens'
exits 0 model info --json
says out '"vocab": 49152|"vocab": [0-9]+'

# A file that does not name its pre-tokenizer is read with a warning, one that names another is not read.
need_tiny
LC_ALL=C sed 's/tokenizer\.ggml\.pre/tokenizer.ggml.prx/' tiny.gguf >silent.gguf
exits 0 tokenize -m tiny.gguf -i texts.jsonl
[ ! -s err ] || fail "a warning without reason: $(cat err)"
exits 0 tokenize -m silent.gguf -i texts.jsonl
says err 'warning: .*tokenizer.ggml.pre'
exits 0 model info -m silent.gguf
says out 'gpt2/default'
LC_ALL=C sed 's/smollm/tekken/' tiny.gguf >other.gguf
refused 5 tokenize -m other.gguf -i texts.jsonl
says err "'tekken'"

# Tokens need the vocabulary alone: of any architecture, and of a file without tensors. Scores need the weights.
LC_ALL=C sed 's/llama/mamba/g' tiny.gguf >mamba.gguf
exits 0 tokenize -m tiny.gguf -i texts.jsonl -o wanted
exits 0 tokenize -m mamba.gguf -i texts.jsonl -o ids.jsonl
same ids.jsonl wanted "tokens of another architecture"
refused 5 model info mamba.gguf
says err '"mamba" is not supported'
refused 5 score -m mamba.gguf -i texts.jsonl
dd if=/dev/zero of=mamba.gguf bs=1 seek=8 count=8 conv=notrunc 2>err || fail "dd: $(cat err)"
exits 0 tokenize -m mamba.gguf -i texts.jsonl -o ids.jsonl
same ids.jsonl wanted "tokens of a vocabulary alone"
exits 0 detokenize -m mamba.gguf -i ids.jsonl
cp out back
exits 0 detokenize -m tiny.gguf -i ids.jsonl
same back out "texts of a vocabulary alone"
exits 0 model info mamba.gguf
says out '^architecture  mamba$'
says out '^tensors       none'
exits 0 model info --json mamba.gguf
says out '"tensors": 0'
exits 0 model info tiny.gguf
cp out first
exits 0 model info -m tiny.gguf
same out first "info with and without -m"
refused 5 score -m mamba.gguf -i texts.jsonl

# What is no file is refused at once, and what is no model before it is read.
mkfifo pipe
truncate -s 3T huge
for name in pipe /dev/zero . huge; do
	for verb in "model info" tokenize score; do
		# shellcheck disable=SC2086 # a verb and its action
		refused 5 $verb -m $name
	done
	refused 5 model info --tensors $name
	refused 5 model quantize -i $name -o out.gguf --type q8_0
done

# Behind a prompt a text has the scores that it has behind the prompt's words: here a token is a byte.
need_tiny finite
printf '%s\n' '{"text":"Rain, again.","id":"a"}' '{"text":null}' '{"text":"Fog"}' '{"text":"Nothing to say."}' >texts.jsonl
printf '%s\n' '{"text":"Calm water.","more":"Sun."}' '{"text":"Wind.","more":"Ice."}' >open.jsonl
printf 'A collection of notes.\n\n### note\nCalm water.\n\n### note\nWind.\n\n### note\n' >words
# alone WORDS: the same texts with these words before each.
alone() {
	python3 - "$1" >alone.jsonl <<-'PYTHON'
		import json, sys
		words = open(sys.argv[1]).read()
		for line in open("texts.jsonl"):
		    text = json.loads(line)["text"]
		    print(json.dumps({"text": text and words + text}))
	PYTHON
	exits 0 score -i alone.jsonl
	cp out alone
}
# agrees: what was printed has the tails of the lines in alone, and their mean.
agrees() {
	python3 - <<-'PYTHON' || fail "scores behind a prompt: $(cat out)"
		import json, math
		*lines, last = map(json.loads, open("out"))
		*whole, _ = map(json.loads, open("alone"))
		assert [line["id"] for line in lines] == ["a", 1, 2, 3] and len(whole) == 4
		sums = []
		for line, other, record in zip(lines, whole, open("texts.jsonl")):
		    text = json.loads(record)["text"] or ""
		    count = len(line["ids"])
		    assert line["ids"] == list(text.encode())
		    assert len(line["logprobs"]) == len(line["top1"]) == count
		    behind = len(other["logprobs"]) - len(text)
		    for i in range(count):
		        assert abs(line["logprobs"][i] - other["logprobs"][behind + i]) <= 2**-17 + 1e-9
		        assert line["top1"][i] == other["top1"][behind + i]
		    if count:
		        sums.append((sum(line["logprobs"]), count))
		tokens = sum(count for _, count in sums)
		mean = sum(total for total, _ in sums) / tokens
		error = math.sqrt(sum((total - mean * count) ** 2 for total, count in sums) * 3 / 2) / tokens
		assert last["tokens"] == tokens and abs(last["mean"] - mean) < 1e-12 and error > 1e-3
		assert abs(last["standard_error"] - error) < 1e-9 and abs(math.log(last["perplexity"]) + mean) < 1e-12
	PYTHON
}
alone words
exits 0 score -i texts.jsonl --kind note --public-examples open.jsonl
agrees
cp out behind
exits 0 score -i texts.jsonl --prompt-public words -t 2 --isa scalar
same out behind "own prompt"
exits 0 score -i texts.jsonl --kind note --public-examples open.jsonl -c 5
says err 'cuttle score: 2 texts are longer than 5 tokens and were scored in their first 5$'
python3 -c 'import json; print([len(json.loads(line).get("ids", [])) for line in open("out")])' >lengths
says lengths '^\[5, 0, 3, 5, 0\]$'
# Some of the examples, and another field of them.
printf 'A collection of texts.\n\n### text\nSun.\n\n### text\n' >words
alone words
exits 0 score -i texts.jsonl --public-examples open.jsonl --examples-field more --examples-per-text 1
agrees
exits 0 score -i texts.jsonl --template continue
cp out behind
exits 0 score -i texts.jsonl --kind text
same out behind "--template continue"
exits 0 score -i texts.jsonl --template instruct --chat-format chatml --system 'Be brief.'
cmp -s out behind && fail "--template instruct changes nothing"
printf '{"text":"Fog"}\n' >fog.jsonl
exits 0 score -i fog.jsonl --kind note
says out '^\{"perplexity":[0-9.]+,"tokens":3,"mean":-[0-9.]+,"standard_error":null\}$'

# Nothing is taken that changes nothing.
refused 2 score -i texts.jsonl --examples-per-text 1
says err '--examples-per-text and --examples-field need --public-examples FILE$'
refused 2 score -i texts.jsonl --kind note --examples-field more
refused 2 score -i texts.jsonl --prompt-public words --kind note
says err '--prompt-public is the whole prompt: leave out --kind and --template$'
refused 2 score -i texts.jsonl --prompt-public words --template continue
refused 2 score -i texts.jsonl --chat-format chatml
says err '--chat-format needs --template instruct$'
refused 2 score -i texts.jsonl --system ''
refused 2 score -i texts.jsonl --kind ''
refused 2 score -i texts.jsonl --kind note -o open.jsonl --public-examples open.jsonl
says err '-o open.jsonl would overwrite open.jsonl, which --public-examples reads'
refused 2 score --public-examples -
refused 4 score -i texts.jsonl --public-examples open.jsonl --examples-field none
refused 4 score -i texts.jsonl --prompt-public /nonexistent
refused 4 score -i texts.jsonl --public-examples open.xlsx
printf '%0600d' 1 >long
refused 2 score -i texts.jsonl --prompt-public long
says err 'a prompt of 600 tokens leaves no room for a text in a context of 512$'

# A learnt bias makes texts like its records likelier, and is told where the prompt is another one.
for i in $(seq 40); do echo "{\"text\":\"note $i of a gardener\"}"; done >notes.jsonl
exits 0 learn -i notes.jsonl -o notes.bias --public --texts 20 --tokens 12 --kind note -q
mean() { sed -nE 's/.*"mean":(-[0-9.]+),.*/\1/p' out; }
exits 0 score -i notes.jsonl --kind note -c 12
without=$(mean)
exits 0 score -i notes.jsonl --kind note -c 12 --bias notes.bias
awk -v a="$(mean)" -v b="$without" 'BEGIN { exit !(a > b + 1) }' || fail "a bias: $(mean) instead of $without"
grep -q 'another public prompt' err && fail "a warning without reason: $(cat err)"
exits 0 score -i notes.jsonl --bias notes.bias
[ "$(grep -c 'Note: the bias was learnt behind another public prompt' err)" = 1 ] || fail "no warning: $(cat err)"
cp out behind
exits 0 score -i notes.jsonl --bias notes.bias --kind text -t 2 --isa scalar
same out behind "a bias is for the kind text"
exits 0 score -i notes.jsonl --bias notes.bias --prompt-public words
says err '^Note: the bias was learnt behind another public prompt'
# Nobody is shown a private prompt here, so another one is no other prompt.
echo 'A note: {reference}' >shown
exits 0 learn -i notes.jsonl -o words.bias --public --texts 4 --tokens 4 --prompt-public words --prompt-private shown -q
exits 0 score -i notes.jsonl --bias words.bias --prompt-public words
[ ! -s err ] || fail "a warning without reason: $(cat err)"
"$(dirname "$CUTTLE")/tests/gen_tiny" other.gguf Q8_0 64 || fail "no other model"
refused 4 score -m other.gguf -i notes.jsonl --bias notes.bias
says err 'the bias was learnt with another model'
refused 4 score -i notes.jsonl --bias notes.jsonl
refused 2 score -i notes.jsonl --bias notes.bias -o notes.bias
cp notes.bias.receipt.json changed.bias.receipt.json
sed 's/"share":/"Share":/' notes.bias >changed.bias
refused 7 score -i notes.jsonl --bias changed.bias
says err 'changed.bias is not the bias that changed.bias.receipt.json is the receipt of, or was changed$'
# Anybody can write a receipt, of fewer numbers than the model has.
sed 's/"bias":\[\([^,]*\),.*/"bias":[\1]}/' notes.bias >short.bias
sed "s/$(sha256sum <notes.bias | cut -c1-64)/$(sha256sum <short.bias | cut -c1-64)/; s/\"width\": 64/\"width\": 1/" \
	notes.bias.receipt.json >short.bias.receipt.json
refused 4 score -i notes.jsonl --bias short.bias
says err 'the bias was learnt with another model'
refused 4 generate -B 0 -N 1 --bias short.bias -o short.jsonl -q
says err 'the bias was learnt with another model'
