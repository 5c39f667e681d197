#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tests `cuttle evaluate`. It fails if a table of private references is not stamped in each of its
# forms, or if others may read it or what it resumes from; if --public or --private is guessed; if
# the references are measured against themselves; if a run that was killed does not continue to the
# same table; or if threads or kernels change a number.
# shellcheck source=/dev/null
. "$(dirname "$(realpath "$0")")/check.bash"
need_tiny finite
stamp='PRIVATE: computed from the references without protection\. Keep it where the references are; do not publish it\.'
words=(the patient coughs at night and has slept well since monday lungs clear no fever rest fluids again)
# texts FIRST LAST: lines with a text of their own, a label and an end.
texts() {
	local i k line
	for ((i = $1; i <= $2; i++)); do
		line=
		for ((k = 0; k < 4 + i % 3; k++)); do line+="${words[(i * (k + 3) + k * k) % 17]} "; done
		echo "{\"text\":\"${line}$i.\",\"kind\":\"$((i % 2))\",\"finish\":\"$([ $((i % 4)) = 0 ] && echo length || echo eos)\"}"
	done
}
texts 1 12 >real.jsonl
texts 13 20 >a.jsonl
texts 21 28 >b.jsonl
texts 29 36 >alone.jsonl
texts 37 44 >test.jsonl
printf 'Patient\nthe patient\nFEVER\n' >terms
run=(evaluate -i a.jsonl -i b.jsonl --against real.jsonl --baseline alone.jsonl --task kind --test test.jsonl --lexicon terms -q)

# ---- private: stamped everywhere, for its owner alone --------------------------------------------
umask 000
for form in md json csv; do
	exits 0 "${run[@]}" --private -o p.$form
	says err "^$stamp$"
	[ "$(wc -l <err)" = 1 ] || fail "more than the stamp: $(cat err)"
	[ ! -s out ] || fail "something on standard output"
	[ "$(stat -c %a p.$form)" = 600 ] || fail "mode $(stat -c %a p.$form) of p.$form"
	exits 0 "${run[@]}" --private --format $form
	same out p.$form "on standard output, $form"
done
umask 022
[ "$(grep -Ec "^\*\*$stamp\*\*$" p.md)" = 2 ] || fail "the stamp of Markdown: $(cat p.md)"
says p.json '"private": true,$'
says p.json "\"stamp\": \"$stamp\""
[ "$(sed 1d p.csv | grep -c ',PRIVATE,')" = 4 ] || fail "the stamp of CSV: $(cat p.csv)"
[ "$(wc -l <p.csv)" = 5 ] || fail "rows: $(cat p.csv)"
for form in md json csv; do
	exits 0 "${run[@]}" --public -o q.$form
	[ ! -s err ] || fail "words about public references: $(cat err)"
	grep -q PRIVATE q.$form && fail "public numbers have a stamp"
	[ "$(stat -c %a q.$form)" = 644 ] || fail "mode $(stat -c %a q.$form) of q.$form"
done
says q.json '"private": false,$'
same <(sed '/"private"/d; /"stamp"/d' q.json) <(sed '/"private"/d; /"stamp"/d' p.json) "private numbers are others"
[ -z "$(ls ./*.features 2>/dev/null)" ] || fail "left: $(ls ./*.features)"
refused 2 "${run[@]}"
says err 'missing: --public or --private; '
refused 2 "${run[@]}" --public --private

# ---- a run that nothing protects: its note, or the receipt beside it, makes the table private ------
run_stamp='PRIVATE: a run says NOT PRIVATE, so its numbers may tell of the references that it was drawn from\. Keep the table where they are; do not publish it\.'
sed '2s/}$/,"private":false,"note":"NOT PRIVATE"}/' a.jsonl >noted.jsonl
cp a.jsonl beside.jsonl
echo '{"note":"NOT PRIVATE","output_sha256":"edited since"}' >beside.receipt.json
printf 'text,finish\n"a patient rests",eos\n"fever and no sleep",eos\n"lungs clear",eos\n"coughs again",eos\n' >converted.csv
cp beside.receipt.json converted.receipt.json
umask 000
for unprotected in '-i noted.jsonl' '-i beside.jsonl' '-i converted.csv' '-i b.jsonl --baseline noted.jsonl' '-i b.jsonl -i noted.jsonl'; do
	rm -f n.*
	# shellcheck disable=SC2086
	exits 0 evaluate $unprotected --against real.jsonl --public -q -o n.json
	says err "^$run_stamp$"
	says n.json "\"stamp\": \"$run_stamp\""
	says n.json '"private": true,$'
	[ "$(stat -c %a n.json)" = 600 ] || fail "mode $(stat -c %a n.json) of $unprotected"
done
umask 022
exits 0 evaluate -i noted.jsonl --against real.jsonl --public -q
[ "$(grep -Ec "^\*\*$run_stamp\*\*$" out)" = 2 ] || fail "the stamp of Markdown: $(cat out)"
# A file of the user's that has the receipt's name says nothing.
cp a.jsonl mine.jsonl
echo 'not a receipt' >mine.receipt.json
exits 0 evaluate -i mine.jsonl --against real.jsonl --public -q
[ ! -s err ] || fail "told of what is no receipt: $(cat err)"

# ---- the table -----------------------------------------------------------------------------------
# ---- what so few texts say, in every form; and what a task teaches -------------------------------
says q.md '^\*\*Too few to tell: the smallest set has 8 texts in 2 clusters\.'
says q.json '^  "Too few to tell: the smallest set has 8 texts'
[ "$(sed 1d q.csv | grep -c ',yes,')" = 4 ] || fail "CSV does not say that the texts are too few: $(cat q.csv)"
says q.md '^\| always the commonest label \| 0\.500 \| 0\.500 \| 0\.500 \| 0\.500 \|$'
says q.md '^\| a guess \| 0\.500 \|'
says q.md '^Taught by 8 texts of a\.jsonl a classifier is right about [0-9]+ % of 8 real ones\. Taught by 6 real ones it is right about [0-9]+ %\. Always the commonest label is right about 50 %\.'
says q.json '"Taught by 8 texts of b\.jsonl a classifier'
refused 4 report q.md -o report.html
says err 'q\.md: a report reads a table in JSON: evaluate with -o table\.json$'
texts 1 104 | head -100 >enough.jsonl
texts 105 204 >run.jsonl
for form in md json csv; do exits 0 evaluate -i run.jsonl --against enough.jsonl --public -q -o enough.$form; done
grep -q 'Too few' enough.md enough.json && fail "100 texts are called too few"
[ "$(sed 1d enough.csv | grep -c ',no,.*,no,')" = 2 ] || fail "100 texts are called too few: $(cat enough.csv)"
head -99 run.jsonl >fewer.jsonl
exits 0 evaluate -i fewer.jsonl --against enough.jsonl --public -q
says out 'the smallest set has 99 texts'
says q.csv '^real against real,"real.jsonl",no,6,6,0,'
says q.csv '^public prompt alone,"alone.jsonl",no,8,12,0,'
says q.csv '^run,"a.jsonl",no,8,12,0,'
for name in =a.jsonl +a.jsonl @a.jsonl; do
	cp a.jsonl $name
	exits 0 evaluate -i $name --against real.jsonl --public -q --format csv
	says out "^run,\"\./[${name:0:1}]a.jsonl\","
	rm $name
done
for heading in 'MAUVE c=5' 'dPPL of means' distinct-2 entities 'probe recall'; do says q.md "\| $heading \|"; done
[ "$(grep -c '"better"' q.json)" = 3 ] || fail "pairs: $(grep -c better q.json)"
# A run's file has its hash, as receipts name it; that of the references is nobody's business.
[ "$(grep -c '"sha256": "[0-9a-f]\{64\}"' q.json)" = 3 ] || fail "hashes: $(grep sha256 q.json)"
says q.json "\"sha256\": \"$(hash_of a.jsonl)\""
grep -q "$(hash_of real.jsonl)" q.json && fail "the hash of the references"
[ "$(grep -c '"histograms": {' q.json)" = 5 ] || fail "histograms: $(grep -c histograms q.json)"
for way in "-t 1" "--isa scalar"; do
	# shellcheck disable=SC2086 # two words
	exits 0 "${run[@]}" --public --format json $way
	same out q.json "$way"
done
# Blank records are passed over and counted; nobody is told on standard error.
{ cat a.jsonl && echo '{"text":" "}' && echo 'no json'; } >blank.jsonl
exits 0 evaluate -i blank.jsonl --against real.jsonl --public -q --format csv
says out '^run,"blank.jsonl",no,8,12,2,'
[ ! -s err ] || fail "told of a bad record: $(cat err)"
head -3 a.jsonl >few.jsonl
refused 4 evaluate -i few.jsonl --against real.jsonl --public -q
says err 'few.jsonl must hold at least 4 texts$'

# ---- references against themselves ---------------------------------------------------------------
ln -s real.jsonl soft.jsonl
for path in real.jsonl ./real.jsonl soft.jsonl; do
	refused 4 evaluate -i $path --against real.jsonl --public -q
	says err "^cuttle evaluate: -i $path is the file of --against: texts cannot be measured against themselves$"
done
{ cat b.jsonl && sed -n 5p real.jsonl; } >meets.jsonl
refused 4 evaluate -i a.jsonl -i meets.jsonl --against real.jsonl --public -q
says err 'a text of meets.jsonl stands word for word in real.jsonl, too'
exits 0 evaluate -i a.jsonl -i meets.jsonl --against real.jsonl --public -q --equal-texts
# Nor does it help to write one of them otherwise: io/text/fold.h says what is the same text. Nor is a term missed.
foldings=('Anna Roe|Anna\r\n  Roe' 'Anna Roe|Anna\u00a0Roe' 'Anna Roe|\ufeffAnna\u202fROE' 'Jos\u00e9|Jose\u0301' 'STRASSE|Stra\u00dfe' "O'Brien|O\\u2019Brien"
	'Anna-Lena|Anna\u2010Lena' 'Anna-Lena|Anna\u2013Lena' 'Anna-Lena|Anna\u2212Lena')
n=0
for folding in "${foldings[@]}"; do
	n=$((n + 1))
	{ cat real.jsonl && echo "{\"text\":\"${folding%|*} $n\",\"kind\":\"0\"}"; } >known.jsonl
	{ cat b.jsonl && echo "{\"text\":\"${folding#*|} $n\",\"kind\":\"0\"}"; } >meets.jsonl
	refused 4 evaluate -i meets.jsonl --against known.jsonl --public -q
	says err 'stands word for word in known.jsonl, too'
	for one in "${folding%|*}" "${folding#*|}"; do
		# shellcheck disable=SC2059 # the escapes are those of JSON
		printf '\uFEFFnowhere\r\n'"${one//\\r\\n/ }"'\r\n' >folded.terms
		for ((i = 0; i < 4; i++)); do echo "{\"text\":\"$i: ${folding#*|}, ${folding%|*}.\"}"; done >folded.jsonl
		exits 0 evaluate -i folded.jsonl --against real.jsonl --public -q --lexicon folded.terms --format csv
		[ "$(awk -F, 'NR == 1 { for (i = 1; i <= NF; i++) if ($i == "entities") c = i } $1 == "run" { print $c }' out)" = 2 ] || fail "terms of $one: $(cat out)"
	done
done
refused 4 evaluate -i a.jsonl --against real.jsonl --public -q --task kind --test a.jsonl
refused 2 evaluate -i a.jsonl --against real.jsonl --public -q --task kind
refused 2 evaluate -i a.jsonl --against real.jsonl --public -q --delta 1e-5
says err '^cuttle evaluate: --delta needs -e EPS$'
refused 2 evaluate -i a.jsonl --against real.jsonl --private -q -e 1 --ledger none.db --dataset d --equal-texts
says err '^cuttle evaluate: -e takes no --equal-texts'
refused 4 evaluate -i a.jsonl --against real.jsonl --public -q --task nothing --test test.jsonl
says err 'at least two different labels$'

# ---- next tokens ---------------------------------------------------------------------------------
# Texts of the references' kind teach most, then their words in another order, then other words: by all columns.
lines() { # lines FIRST LAST KIND: sentences of one grammar; as they are, turned around, or of other letters
	python3 - "$@" <<-'PYTHON'
		import json, random, sys
		first, last, kind = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
		who, does, what = ("the nurse", "the old doctor", "a patient"), ("asks for", "looks at", "writes down"), ("the dose", "a bed", "her blood count")
		for i in range(first, last + 1):
		    r = random.Random(i)
		    text = ". ".join(" ".join(r.choice(part) for part in (who, does, what)) for _ in range(4)) + f" {i}"
		    if kind == "turned":
		        text = "".join(r.sample(text, len(text)))
		    if kind == "other":
		        text = "".join(chr(65 + (ord(c) * 7) % 26) for c in text)
		    print(json.dumps({"text": text}))
	PYTHON
}
lines 1 24 same >grammar.jsonl
cp grammar.jsonl again.jsonl
lines 31 42 same >same.jsonl
lines 51 62 turned >turned.jsonl
lines 71 82 other >other.jsonl
next=(evaluate -i same.jsonl -i turned.jsonl --baseline other.jsonl --against grammar.jsonl --next-token -q)
# cell ROW-NUMBER COLUMN: a number of the table out, in JSON.
cell() { python3 -c 'import json, sys; print(json.load(open("out"))["rows"][int(sys.argv[1])][sys.argv[2]]["value"])' "$@"; }
exits 0 "${next[@]}" --public --format json
says out 'It is no BERT: compare rows of this table, not with accuracies of papers'
python3 - <<'PYTHON' || fail "next tokens: $(cat out)"
import json
real, other, same, turned = json.load(open("out"))["rows"]
of = lambda row, key: row["next_token" + key]["value"]
assert of(same, "") > of(turned, "") + .1 and of(same, "") > of(other, "") + .1
assert of(same, "_bits") < of(turned, "_bits") - 1 and of(turned, "_bits") < of(other, "_bits")
assert abs(of(same, "_over_real")) < 2 * same["next_token_over_real"]["error"] + .03
assert of(turned, "_over_real") < 0 < of(same, "_over_public") and of(turned, "_bits_over_real") > 0 > of(same, "_bits_over_public")
assert abs(of(same, "_over_public") - (of(same, "") - of(other, ""))) < 1e-12
assert "next_token_over_public" not in other and "next_token_over_real" not in real
assert all(row["next_token"]["error"] >= 0 and row["next_token_bits"]["error"] >= 0 for row in (real, other, same, turned))
PYTHON
cp out next.json
# shellcheck disable=SC2046 # an option and its value, or none
exits 0 "${next[@]}" --public -t 1 $(short || echo --isa scalar) --format json
same out next.json "next tokens with one thread and other kernels"
exits 0 "${next[@]}" --public
says out '^Next tokens of the references, guessed by a small model that the texts taught: an interpolated 4-gram .* It is no BERT'
says out '^\| texts \| next token \| bits \| over real \| bits over real \| over public prompt \| bits over public prompt \|$'
exits 0 "${next[@]}" --private
says err "^$stamp$"
[ "$(grep -Ec "^\*\*$stamp\*\*$" out)" = 2 ] || fail "private next tokens without a stamp: $(cat out)"
grep -q 'Next tokens' q.md && fail "next tokens unasked"
# References alone may teach nothing, and texts of one token are told.
for ((i = 0; i < 5; i++)); do echo "{\"text\":\"$i\"}"; done >single.jsonl
exits 0 evaluate -i single.jsonl --against grammar.jsonl --next-token -q --public --format json
cell 1 next_token >/dev/null || fail "no number: $(cat out)"
exits 0 evaluate -i same.jsonl --against single.jsonl --next-token -q --public --format json
# Equal sets are refused as ever, and with --equal-texts what was taught is known.
refused 4 evaluate -i again.jsonl --against grammar.jsonl --next-token -q --public
exits 0 evaluate -i again.jsonl -i same.jsonl --against grammar.jsonl --next-token -q --public --equal-texts --format json
[ "$(cell 1 next_token)" != "$(cell 2 next_token)" ] || fail "a copy teaches as much as others: $(cat out)"
refused 2 evaluate -i same.jsonl --against grammar.jsonl --private -e 1 --ledger none.db --dataset d --next-token -q
says err '^cuttle evaluate: -e takes no --next-token: nothing protects what is measured on real texts$'
refused 2 evaluate --schema none.json -i same.jsonl --against grammar.jsonl --private --next-token -q

# ---- vectors of others ---------------------------------------------------------------------------
# vectors ROWS: NumPy's format, rows of two numbers.
vectors() {
	local header i
	header="{'descr': '<f4', 'fortran_order': False, 'shape': ($1, 2), }"
	printf '\x93NUMPY\x01\x00\x76\x00%-117s\n' "$header"
	for ((i = 0; i < $1; i++)); do
		# shellcheck disable=SC2059 # bytes
		printf "\\x00\\x00\\x80\\x3f\\x00\\x00\\x$((i % 8))0\\x3f"
	done
}
vectors 12 >real.npy
vectors 8 >a.npy
exits 0 evaluate -i a.jsonl --against real.jsonl --public -q --features-a real.npy --features-b a.npy --task kind --test test.jsonl --format json
says out '"features": "imported"'
says out '"bayes"'
exits 0 evaluate -i a.jsonl --against real.jsonl --public -q --features-a real.npy --features-b a.npy --next-token --format json
cell 1 next_token_over_real >with.vectors
exits 0 evaluate -i a.jsonl --against real.jsonl --public -q --next-token --format json
[ "$(cell 1 next_token_over_real)" = "$(cat with.vectors)" ] || fail "next tokens follow from vectors: $(cat out)"
exits 0 evaluate -i a.jsonl --against real.jsonl --public -q --features-a real.npy --features-b a.npy --task kind --test test.jsonl --format json
grep -q '"probe": {$' <(sed -n '/"rows"/,$p' out) && fail "a probe without vectors of the test texts"
refused 4 evaluate -i a.jsonl --against real.jsonl --public -q --features-a a.npy --features-b a.npy
says err 'a.npy has 8 rows, and real.jsonl 12 records: each record needs a row$'
refused 4 evaluate -i a.jsonl --against real.jsonl --public -q --features-a real.npy --features-b a.jsonl
refused 2 evaluate -i a.jsonl --against real.jsonl --public -q --features-a real.npy
says err 'vectors must be given for all'

# ---- what stands there already is nobody's to lose ------------------------------------------------
echo mine >mine.md
cp mine.md mine.csv.features
refused 2 evaluate -i a.jsonl --against real.jsonl --public -q -o mine.md
says err 'mine.md is there already; --overwrite replaces it$'
refused 2 evaluate -i a.jsonl --against real.jsonl --public -q -o mine.csv --overwrite
says err 'mine.csv.features is in the way'
[ "$(cat mine.md mine.csv.features)" = $'mine\nmine' ] || fail "a file of the user is gone"
exits 0 evaluate -i a.jsonl --against real.jsonl --public -q -o mine.md --overwrite
says mine.md MAUVE
rm mine.*

# ---- a run that is killed continues --------------------------------------------------------------
texts 100 1500 >many.jsonl
for privacy in --private --public; do
	umask 000
	: >err
	"$CUTTLE" evaluate -i many.jsonl --against real.jsonl $privacy -o k.json --progress json 2>err &
	pid=$!
	soon grep -q texts_done err || fail "no text was done: $(cat err)"
	mode=$(stat -c %a k.json.features)
	kill "-$([ $privacy = --private ] && echo KILL || echo TERM)" $pid
	wait $pid 2>/dev/null
	code=$?
	umask 022
	[ "$mode" = 600 ] || fail "mode $mode of what the model made of texts"
	[ ! -e k.json ] || fail "half a table"
	[ $privacy = --private ] || [ $code = 6 ] || fail "exit $code: $(cat err)"
	[ $privacy = --private ] || says err 'stopped; the same command continues$'
	[ "$(stat -c %s k.json.features)" -gt 1000 ] || fail "nothing to continue with"
	# The beginning is enough to see that it goes on.
	head -40 many.jsonl >some.jsonl
	exits 0 evaluate -i some.jsonl --against real.jsonl $privacy -o k.json -q
	[ ! -e k.json.features ] || fail "left: k.json.features"
	exits 0 evaluate -i some.jsonl --against real.jsonl $privacy -o fresh.json -q
	same k.json fresh.json "a run that continued has other numbers"
	rm k.json fresh.json
done
coreless evaluate -i a.jsonl --against - --private -q -o -
