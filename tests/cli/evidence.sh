#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tests `cuttle report --evidence`. It fails if a private number stands in a folder without --private, or is not stamped with it; if a
# receipt that does not hold, or has no guarantee, does not stamp each page and end with its exit code; if verify.txt says something else
# than receipt verify; if another data set of the ledger is named; if deployment.yaml is not of the registry's schema, by
# tests/cli/evidence.py; if a source or a line that is named is not there; if a folder is there in part, or over somebody's files; if the
# same files make other bytes; or if odds are others than docs/EVIDENCE.md says.
root=$(realpath "$(dirname "$(realpath "$0")")/../..")
# shellcheck source=/dev/null
. "$root/tests/cli/check.bash"
need_tiny finite
stamp='computed from the references without protection: do not publish'
pages=(deployment.yaml sp800-226.md dpia.md hipaa.md report.html verify.txt questions.md)
command -v python3 >/dev/null || { echo "skipped: ${0##*/}: there is no python3"; exit 0; }
looked() { python3 "$root/tests/cli/evidence.py" "$1" "$root" >seen 2>&1 || fail "$1: $(cat seen)"; }
# sound FOLDER: all that a folder must be, whatever it is of.
sound() {
	local page
	for page in "${pages[@]}"; do [ -s "$1/$page" ] || fail "$1 has no $page"; done
	looked "$1"
	grep -rF "$PWD" "$1" && fail "$1 says where files are"
	nothing_beside "$1"
}
# nothing_beside FOLDER: no scratch folder is left.
nothing_beside() { for left in "$1".part*; do [ ! -e "$left" ] || fail "left over: $left"; done; }
# stamped FOLDER WORDS: each page says so.
stamped() { for page in "${pages[@]}"; do grep -qF "$2" "$1/$page" || fail "$1/$page is not stamped: $2"; done; }
unstamped() { grep -rlE 'NOT PRIVATE|DOES NOT HOLD|NO GUARANTEE|CONTRADICTED|PRIVATE: numbers' "$1" && fail "$1 is stamped"; }

references 12
mine="<i>\"notes\" \`x\` \\ 'of' \$(us) | #1: é😀"
exits 0 ledger init --ledger spent.db --dataset SECRET-OTHER --epsilon-limit 20
exits 0 ledger init --ledger spent.db --dataset "$mine" --epsilon-limit 20
exits 0 ledger key --sign key
run=(-i refs.jsonl -B 2 -N 4 -n 8 --kind note -q --lots off)
exits 0 generate "${run[@]}" -e 1 -o other.jsonl --ledger spent.db --dataset SECRET-OTHER
exits 0 generate "${run[@]}" -e 3 -o run.jsonl --ledger spent.db --dataset "$mine" --sign key
mkdir away && cp run.jsonl away/out.jsonl
game='{"games":200,"hits":81,"alarms":22,"epsilon_at_least":0.8125,"epsilon_at_least_sure":0.3125}'
control='{"games":200,"hits":199,"alarms":0,"epsilon_at_least":3.9375,"epsilon_at_least_sure":2.4375}'
# audit NAME PRIVATE STAMP CONTRADICTED: an audit's JSON.
audit() {
	echo "{\"audit\":\"$1\",\"private\":$2,\"stamp\":$3,\"contradicted\":$4,\"void\":false,\"claimed_epsilon\":2.9,\"delta\":1e-6,\"game\":$game,\"control\":$control}"
}
audit canary false null false >canary.json
audit overlap true '"PRIVATE: of private references"' false | sed 's/0.8125/0.640625/' >hidden.json
exits 0 evaluate -i run.jsonl --against refs.jsonl --public -q -o open.json
exits 0 evaluate -i other.jsonl --against refs.jsonl --private -q -o closed.json

# ---- a folder ------------------------------------------------------------------------------------
report=(report run.receipt.json canary.json open.json --texts away/out.jsonl --ledger spent.db --key key.pub)
exits 0 "${report[@]}" --evidence plain
if [ -s out ] || [ -s err ]; then fail "words about a folder that is well: $(cat out err)"; fi
sound plain
unstamped plain
[ "$(find plain | LC_ALL=C sort | tr '\n' ' ')" = "plain plain/deployment.yaml plain/dpia.md plain/hipaa.md plain/ledger.jsonl plain/questions.md plain/receipts plain/receipts/1.receipt.json plain/report.html plain/sp800-226.md plain/verify.txt " ] || fail "files: $(find plain)"
[ "$(stat -c %a plain plain/receipts plain/dpia.md | paste -sd' ')" = "755 755 644" ] || fail "modes: $(stat -c %a plain/*)"
same plain/receipts/1.receipt.json run.receipt.json "the receipt was not copied as it is"
grep -r SECRET-OTHER plain && fail "another data set is named"
exits 0 ledger export --ledger spent.db --dataset "$mine"
same plain/ledger.jsonl out "the ledger's entries"
says plain/dpia.md '^\| Attribute and membership inference, 55\(i\) \| canary: nothing against the guarantee, which no audit can prove, epsilon at least 0.8125 \(95 %\), but no receipt here promises what it tested \|'
says plain/dpia.md '^\| Inversion, 55\(iv\) \| not run \|'
says plain/sp800-226.md '^\| Utility \| 3.2 \| met \|'
says plain/sp800-226.md '^\| Hazard: timing \| 4.3 \| not met \|'
says plain/sp800-226.md '^\| Unit of privacy \| 2.4 \| yours \|'
says plain/hipaa.md 'This is not a determination'
exits 0 "${report[@]}"
grep -o '<svg' plain/report.html | cmp -s - <(grep -o '<svg' out) || fail "report.html has other charts than the report"

# The transcript is the command's own: it is repeated where the files are at hand.
mkdir again && cp -r plain/receipts again && cp away/out.jsonl spent.db again
(cd again && unset CUTTLE_MODEL && sed -n "s|^\$ cuttle |'$CUTTLE' |p" ../plain/verify.txt >run && bash run >said 2>&1) || fail "the command of verify.txt fails: $(cat again/said)"
sed -n '/^The receipt agrees/,/^exit code/p' plain/verify.txt | grep -v '^exit code' >told
same told again/said "verify.txt is no transcript"
says plain/verify.txt '^exit code 0: it holds$'
says plain/verify.txt 'these are its bytes'
says plain/verify.txt 'it has the entry'
says plain/verify.txt 'the one given'

# The same files make the same bytes, wherever and whenever.
cp -r plain kept
(cd away && TZ=Asia/Tokyo LC_ALL=C SOURCE_DATE_EPOCH=1 exits 0 report ../run.receipt.json ../canary.json ../open.json --texts out.jsonl --ledger ../spent.db --key ../key.pub --evidence again/) || exit 1
diff -r plain away/again || fail "the same files make another folder"

# Odds are said in one place.
while IFS= read -r row; do grep -qF "$row" "$root/docs/EVIDENCE.md" || fail "docs/EVIDENCE.md has other odds: $row"; done < <(grep -E '^\| (1|3|10) \|' plain/dpia.md)
[ "$(grep -cE '^\| (1|3|10) \|' plain/dpia.md)" = 3 ] || fail "rows of odds"
python3 - <<'END' || fail "odds are computed wrongly"
from math import ceil, exp
rows = [line.split('|') for line in open('plain/dpia.md') if line[:4] in ('| 1 ', '| 3 ', '| 10')]
for row in rows:
    e = exp(float(row[1]))
    for cell, prior in ((3, 0.01), (4, 0.5)):
        told, true = float(row[cell].split()[0]), 100 * prior * e / (1 - prior + prior * e)
        assert true <= told <= true + (0.1 if true < 99 else 0.001), (row, true)
    told = float(row[2].split()[0].replace(',', ''))
    assert e <= told <= e * 1.01 + 1e-9 or told == ceil(e), (row, e)
END

# ---- private numbers -----------------------------------------------------------------------------
private=("${report[@]}" hidden.json closed.json)
# A line of stamps moves those below it.
unnumbered() { sed -E 's/:[0-9]+.: / /'; }
for setting in 0 1; do
	CUTTLE_PRIVATE=$setting exits 0 "${private[@]}" --evidence left-$setting
	sound left-$setting
	unstamped left-$setting
	grep -rlE -e 0.640625 -e closed.json -e hidden.json -e "$stamp" left-$setting && fail "a private number without --private"
	for page in deployment.yaml verify.txt ledger.jsonl receipts/1.receipt.json; do same left-$setting/$page plain/$page "$page, of private files that were left out"; done
	for page in sp800-226.md dpia.md hipaa.md questions.md; do
		says left-$setting/$page '2 private files were left out'
		same <(grep -v '2 private files' left-$setting/$page | unnumbered | cat -s) <(unnumbered <plain/$page) "$page, of private files that were left out"
	done
	same <(grep -v 'were left out' left-$setting/report.html) plain/report.html "report.html, of private files that were left out"
	says left-$setting/report.html '2 files were left out \(--private adds them\)'
done
umask 000
exits 0 "${private[@]}" --private --evidence closed
umask 022
says err "^PRIVATE: numbers of 2 of the files are $stamp$"
sound closed
stamped closed "PRIVATE: numbers of 2 of the files are $stamp."
says closed/dpia.md "0.640625 \(95 %\) \(PRIVATE: $stamp\)"
[ "$(find closed -printf '%m ' | tr ' ' '\n' | sort -u | paste -sd' ')" = "600 700" ] || fail "a private folder is open to others: $(find closed -printf '%m %p\n')"
exits 0 "${report[@]}" --private --evidence nothing-private
diff -r plain nothing-private || fail "--private changes a folder of public files"

# ---- what does not hold --------------------------------------------------------------------------
exits 0 generate "${run[@]}" --method none --not-private -o none.jsonl
sed 's/"delta": [0-9.e-]*/"delta": 1e-7/' other.receipt.json >edited.json
exits 7 report edited.json none.receipt.json run.receipt.json --ledger spent.db --evidence bad
says err 'the folder is written, and 1 of its 3 receipts do not hold \(verify.txt\)$'
sound bad
stamped bad 'DOES NOT HOLD: receipts/3.receipt.json'
stamped bad 'NOT PRIVATE: the output of receipts/2.receipt.json'
says bad/verify.txt '^exit code 7: IT DOES NOT HOLD$'
says bad/verify.txt '^exit code 4: NOT PRIVATE$'
[ "$("$CUTTLE" receipt verify edited.json 2>&1 | sed 's|edited.json|receipts/3.receipt.json|')" = "$(grep -B1 '^exit code 7' bad/verify.txt | head -1)" ] || fail "another message: $(cat bad/verify.txt)"
same bad/receipts/3.receipt.json edited.json "a receipt that does not hold was not copied as it is"
grep -q SECRET-OTHER bad/ledger.jsonl && fail "the ledger's entries of a receipt that does not hold"
says bad/sp800-226.md '^\| Privacy parameter \| 2.2 \| not met \|'
for name in edited.json none.receipt.json; do
	code=$([ $name = edited.json ] && echo 7 || echo 4)
	exits "$code" report $name --evidence "only-$code"
	sound "only-$code"
	stamped "only-$code" "$([ "$code" = 7 ] && echo 'DOES NOT HOLD' || echo 'NOT PRIVATE')"
	grep -rq 'epsilon 2\.\|"epsilon"' "only-$code"/*.md "only-$code/deployment.yaml" && fail "an epsilon of what does not hold"
done
exits 7 report other.receipt.json run.receipt.json --key key.pub --evidence unsigned
stamped unsigned 'DOES NOT HOLD: receipts/2.receipt.json'
says unsigned/verify.txt 'it has no signature'
exits 0 ledger init --ledger empty.db --dataset "$mine" --epsilon-limit 10
exits 7 report run.receipt.json --ledger empty.db --evidence uncounted
stamped uncounted 'DOES NOT HOLD'
says uncounted/verify.txt '^cuttle receipt: empty.db has no entry'
# A bias of records that were called public promises nothing: the receipt holds.
exits 0 learn -i refs.jsonl --texts 8 --tokens 8 -q --public -o open.bias
exits 0 report open.bias.receipt.json --evidence free
sound free
stamped free 'NO GUARANTEE: what receipts/1.receipt.json is of promises nothing.'
# An audit that contradicts is shown; a private one wants --private.
audit canary false null true >broken.json
exits 7 report run.receipt.json broken.json --evidence broken
says err 'the folder is written, and an audit in it contradicts the guarantee$'
stamped broken CONTRADICTED
says broken/dpia.md 'canary: CONTRADICTS the guarantee'
audit overlap true '"PRIVATE: x"' true >worse.json
# unmade WANTED WORDS ARG...: refused in one line, and no folder is there.
unmade() {
	refused "$1" report "${@:3}" --evidence x
	says err "$2"
	[ ! -e x ] || fail "a folder of ${*:3}"
	nothing_beside x
}
unmade 7 'worse.json contradicts the guarantee' run.receipt.json worse.json
exits 7 report run.receipt.json worse.json --private --evidence worse
stamped worse CONTRADICTED
stamped worse "PRIVATE: numbers of 1 of the files are $stamp."

# ---- what cannot be said -------------------------------------------------------------------------
unmade 4 'nowhere' run.receipt.json nowhere
unmade 4 'refs.jsonl: line 2 is no JSON' run.receipt.json refs.jsonl
unmade 2 'none of the files is a receipt' open.json
unmade 2 'is given twice' run.receipt.json run.receipt.json
unmade 2 'is given twice' edited.json edited.json
unmade 7 'refs.jsonl is the output of no receipt here' run.receipt.json --texts refs.jsonl
unmade 2 'without --publish$' run.receipt.json --publish
unmade 2 'without --dataset$' run.receipt.json --ledger spent.db --dataset SECRET-OTHER
unmade 2 'without -o, --format, --json and' run.receipt.json --json
unmade 2 'without -o, --format, --json and' run.receipt.json -o page.html
refused 2 report run.receipt.json --private
says err '^cuttle report: --private is for a folder'
CUTTLE_PRIVATE=1 exits 0 report run.receipt.json
refused 2 report run.receipt.json --ledger spent.db --evidence spent.db-journal

# ---- whole, or not at all ------------------------------------------------------------------------
mkdir full void && echo mine >full/mine
refused 2 report run.receipt.json --evidence full
says err 'full is there already, and is no empty folder: name another$'
[ "$(ls full)" = mine ] || fail "somebody's folder was changed"
refused 2 report run.receipt.json --evidence refs.jsonl
refused 2 report run.receipt.json --evidence .
exits 0 report run.receipt.json --evidence void/
[ -s void/questions.md ] || fail "an empty folder was not filled"
# A file that cannot be written: nothing is left.
(ulimit -f 8 && exits 1 report run.receipt.json --evidence small) || exit 1
[ ! -e small ] || fail "a folder without all its files"
nothing_beside small
# What a killed command left is removed by the next, but not while somebody writes it, and nothing else.
mkdir -p late.part-0123456789abcdef/receipts late.part-1123456789abcdef late.part-x && touch late.part-0123456789abcdef/{a.md,receipts/b}
exec 8<late.part-1123456789abcdef && flock 8
exits 0 report run.receipt.json --evidence late
[ ! -e late.part-0123456789abcdef ] || fail "a scratch folder of a killed command is left"
for kept in late.part-1123456789abcdef late.part-x; do [ -e $kept ] || fail "somebody's folder was removed: $kept"; done
exec 8<&-
rm -r late*
# Killed when so many of its files are there, or a little later; whether it was in time decides nothing.
# shellcheck disable=SC2317 # soon calls it
made() { [ "$(compgen -G 'late.part-*/*' | wc -l)" -ge "$1" ]; }
for ((i = 0; i < $(short && echo 9 || echo 60); i++)); do
	"$CUTTLE" report run.receipt.json open.json --ledger spent.db --evidence late >out 2>&1 &
	pid=$!
	soon made $((i % 12))
	kill -9 $pid 2>/dev/null
	wait $pid 2>/dev/null
	[ ! -e late ] || { sound late && rm -r late; }
done
exits 0 report run.receipt.json --evidence late
sound late

# ---- all systems ---------------------------------------------------------------------------------
exits 0 generate -i refs.jsonl -B 2 -N 2 -n 8 --kind note -q -e 1 -o lots.jsonl
exits 0 expand -i run.jsonl -o more.jsonl -N 4 -n 8 -q
exits 0 learn -i refs.jsonl --texts 8 --tokens 8 -q -e 1 -o notes.bias
exits 0 generate -B 0 --bias notes.bias -N 2 -n 4 -o free.jsonl -q
exits 0 evolve -i refs.jsonl -e 3 -N 2 --generations 1 -n 4 -o evolved.jsonl -q
printf '%s\n' 'owl 1 0' 'cat 0 1' 'dog 1 1' 'elk 1 2' >vectors.txt
exits 0 words --vectors vectors.txt -o w.cw
exits 0 perturb --words w.cw -i refs.jsonl -k 2 -N 5 --pad -e 0.5 -q -o words.jsonl
echo '{"text":"To Ann: see us on 5 May.","spans":[{"start":3,"end":6,"entity_type":"PERSON"},{"start":18,"end":23,"entity_type":"DATE"}]}' >docs.jsonl
exits 0 sanitize -i docs.jsonl -n 6 --template continue -q -o clean.jsonl -e 4 --mix average --group PERSON --group DATE
sed 's/"text"/"who":"p","text"/' refs.jsonl >owned.jsonl
exits 0 generate -i owned.jsonl -B 2 -N 2 -n 8 --kind note -q -e 3 --lots off --unit-key who --one-per-unit -o owned-out.jsonl
for name in lots more notes.bias free evolved words clean owned-out; do
	exits 0 report $name.receipt.json --evidence "of-$name"
	sound "of-$name"
	unstamped "of-$name"
done
says of-lots/dpia.md '^\| epsilon if the record.s batch is known \|'
says of-owned-out/sp800-226.md '^\| Unit of privacy \| 2.4 \| met \|'
says of-notes.bias/deployment.yaml 'data_product_type: "Machine learning model"'
says of-clean/deployment.yaml 'data_product_type: "Dataset"'
says of-words/dpia.md '^\| epsilon of a text \|'
exits 0 report {run,more,lots,notes.bias,free,evolved,words,clean,owned-out}.receipt.json --ledger spent.db --evidence together
sound together
unstamped together
says together/verify.txt 'receipts/2.receipt.json --parent receipts/1.receipt.json'
says together/deployment.yaml '^    privacy_parameters: \{\}$'
says together/deployment.yaml 'release_type: "Many releases"'
# What was made from another output here costs nothing more, and no ledger counts it.
exits 0 report {run,more}.receipt.json --ledger spent.db --evidence derived
looked derived
same <(grep -A3 'privacy_parameters:' derived/deployment.yaml) <(grep -A3 'privacy_parameters:' plain/deployment.yaml) "an expansion is counted again"
says derived/sp800-226.md '^\| Composition and budget \| 2.1.2, 4.1 \| met \|'
exits 0 report {notes.bias,free}.receipt.json --evidence taught
looked taught
says taught/deployment.yaml '^      epsilon: 1(\.0)?$'
exits 0 report {run,other}.receipt.json --evidence two
epsilon() { sed -n "s/^ *\"epsilon\": \([0-9.e-]*\),$/\1/p" "$1"; }
looked two
python3 -c 'import json, sys
told = json.load(open("seen"))["deployment"]["privacy_loss"]["privacy_parameters"]
sum = float(sys.argv[1]) + float(sys.argv[2])
assert sum <= told["epsilon"] <= sum * 1.00001 and told["delta"] == 2e-6, told' "$(epsilon run.receipt.json)" "$(epsilon other.receipt.json)" || fail "a sum of two outputs: $(cat seen)"
# Who gets both gets both: what all outputs say together stands beside what one says.
sum=$(sed -n 's/^      epsilon: //p' two/deployment.yaml)
says two/dpia.md "^\| all outputs, if of the same records \| $sum \|"
says two/hipaa.md "By all of them, if they are of the same records, epsilon is $sum,"
says two/sp800-226.md 'Odds can grow 54.6 times, by all outputs here'
grep -q 'all outputs here\|all of them' plain/*.md && fail "a sum of one output"
says together/hipaa.md 'Several of the same records add up, and there is no sum here'
# An evaluation through noise costs its references, too.
exits 0 ledger init --ledger aside.db --dataset aside --epsilon-limit 9 --delta-limit 1e-5
exits 0 evaluate -i other.jsonl --against refs.jsonl --private -e 2 --ledger aside.db --dataset aside -q -o noisy.json
exits 0 report run.receipt.json noisy.json --evidence noisy
sound noisy
unstamped noisy
says noisy/dpia.md '^\| evaluations through noise, of their references \| 2 \|'
says noisy/hipaa.md '^\| Evaluations \| Of 1 the references answered through noise.*epsilon 2 is added'
says noisy/deployment.yaml 'evaluations cost their references epsilon 2, delta 1e-06, through noise'
says noisy/sp800-226.md 'Evaluations here cost their references more'
# With lots epsilon is not for any reader.
says of-lots/questions.md '^Against any reader of the output, with any computer, and any knowledge but that of the lots'
says of-lots/questions.md '^- .dpia.md:[0-9]*.: .\| epsilon if the record.s batch is known \|.$'
says of-lots/hipaa.md 'any other information but that of the lots'
says of-lots/deployment.yaml 'but not the lots'
grep -q 'the lots' plain/*.md plain/deployment.yaml && fail "lots of a run without"
# An expansion whose parent does not hold is no less than any other output.
exits 7 report {run,more}.receipt.json --ledger empty.db --evidence orphan
looked orphan
says orphan/deployment.yaml '^    privacy_parameters: \{\}$'
says orphan/sp800-226.md '^\| Composition and budget \| 2.1.2, 4.1 \| not met \|'
# An epsilon that is copied from a receipt that is not here was not computed again.
for name in of-more of-free; do says $name/sp800-226.md '^\| Privacy parameter \| 2.2 \| yours \|.*But of 1 it is copied from a receipt that is not here'; done
for name in derived taught plain; do says $name/sp800-226.md '^\| Privacy parameter \| 2.2 \| met \|.*was computed again. The largest is [0-9.]*\. \|'; done
# Beside an output that nothing bounds, the bound of another is no bound of both.
exits 4 report run.receipt.json none.receipt.json --evidence mixed
looked mixed
says mixed/deployment.yaml '^    privacy_parameters: \{\}$'
grep -q 'all outputs, if' mixed/dpia.md && fail "a sum beside what nothing bounds"
for name in mixed bad only-4 only-7 free; do
	says $name/hipaa.md '^\| Size of the risk \| Without bound: '
	says $name/hipaa.md '^\| Other information \| No bound holds for all outputs here'
	says $name/sp800-226.md 'Odds can grow any number times'
	says $name/dpia.md 'Nothing bounds what an output says that has no row'
	grep -q '^Against any reader' $name/questions.md && fail "$name: a promise for outputs without a guarantee"
done
# What has no guarantee meets nothing about how it was drawn.
[ "$(grep -cE '^\| Hazard: (floating point|errors and other channels) \| 4.3 \| not met \|' only-4/sp800-226.md)" = 2 ] || fail "a hazard is met without a guarantee"
# An audit tests this folder where a receipt in it promises what was tested.
says plain/sp800-226.md '^\| Tests of the implementation \| 4.6 \| not met \|'
sed "s/2.9,/$(epsilon run.receipt.json),/" canary.json >of-run.json
exits 0 report run.receipt.json of-run.json --evidence tested
says tested/sp800-226.md '^\| Tests of the implementation \| 4.6 \| met \|'
grep -q 'but no receipt' tested/dpia.md && fail "an audit of this receipt is of none"

# ---- names that do harm --------------------------------------------------------------------------
# Whatever a path is, messages show the name in the folder, and nothing of the path.
long=private-$(printf 'x%.0s' {1..180})
odd=$'private\n\e[31m/x\nexit code 0: it holds'
mkdir -p "$long/$long" "${odd%%/*}" && cp edited.json "$long/$long/x.json" && cp edited.json "$odd" && cp edited.json e && cp run.jsonl "$odd.jsonl"
for name in "$long/$long/x.json" "$odd" e; do
	rm -rf named
	exits 7 report "$name" run.receipt.json --texts "$odd.jsonl" --evidence named
	sound named
	grep -r private- named && fail "verify.txt has a path: $(cat named/verify.txt)"
	[ "$(grep -c '^exit code 0' named/verify.txt)" = 1 ] || fail "a name is taken for a verdict: $(cat -v named/verify.txt)"
	says named/verify.txt '^\$ cuttle receipt verify receipts/1.receipt.json --output FILE$'
	says named/verify.txt "^cuttle receipt: receipts/2.receipt.json: $([ ${#name} -gt 300 ] && echo 'the reason has no room' || echo 'its bytes are not those that cuttle writes')"
done
# A name that turns text around, or that YAML has no character for.
exits 0 generate "${run[@]}" -e 3 -o plainly.jsonl
for name in 'x\u202ey' 'x\u009b31m' 'x\u2028y' 'x\ufffey'; do
	rm -rf named
	python3 -c 'import json, sys; text = open("plainly.receipt.json").read(); assert "\"dataset\": null" in text
print(end=text.replace("\"dataset\": null", "\"dataset\": \"" + json.loads("\"" + sys.argv[1] + "\"") + "\""))' "$name" >turned.json
	exits 0 report turned.json --evidence named
	sound named
	[ "${name#*fff}" != "$name" ] || says named/verify.txt '^data set x\?(y|31m)$'
done
# An empty folder of the owner alone stays so.
mkdir -m 700 mine
exits 0 report run.receipt.json --evidence mine
[ "$(stat -c %a mine)" = 700 ] || fail "an empty folder was opened to others: $(stat -c %a mine)"
exit 0
