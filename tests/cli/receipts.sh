#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tests that a receipt of any kind is read strictly. gen_edits makes each member of it missing, null, of another type, negative, empty or far
# too long, one at a time. It fails if receipt verify's checks accept one of these, crash, or refuse a receipt as it was written; or if receipt
# verify has no words for one. Receipts in the words before today's (tests/golden/receipts-0.2.0.tar.gz) are read as strictly.
golden=$(dirname "$(realpath "$0")")/../golden
# shellcheck source=/dev/null
. "$(dirname "$(realpath "$0")")/check.bash"
need_tiny finite
edits=$(dirname "$CUTTLE")/tests/gen_edits
[ -x "$edits" ] || fail "no gen_edits: make tests"
for i in $(seq 0 23); do
	echo "{\"text\":\"note $i of a gardener\",\"kind\":\"$([ $((i % 3)) = 0 ] && echo sea || echo land)\",\"who\":\"p$((i / 2))\"}"
done >refs.jsonl
for i in $(seq 1 20); do echo "{\"text\":\"A note about $i.\"}"; done >open.jsonl
cat >docs.jsonl <<'END'
{"id":"a","text":"To Ann Roe: see us on 5 May.","spans":[{"start":3,"end":10,"entity_type":"PERSON"},{"start":22,"end":27,"entity_type":"DATE"}]}
{"id":"b","text":"From Ann Roe.","spans":[{"start":5,"end":12,"entity_type":"PERSON"}]}
{"id":7,"text":"Nobody is here.","spans":[]}
END
letters=({a..f})
for ((i = 0; i < 60; i++)); do
	echo "w${letters[i % 6]}${letters[i / 6 % 6]}${letters[i / 36]} 0.$((i % 7))1 -0.$((i % 5))2 0.$((i % 11))3 $((i % 3)).$i"
done >glove.txt
exits 0 words --vectors glove.txt --format glove -o w.cw
exits 0 ledger init --ledger l --dataset d --epsilon-limit 30 --delta-limit 1e-4
exits 0 ledger init --ledger r --dataset d --rho-limit 30

while read -r name options; do
	# shellcheck disable=SC2086 # options and their values
	exits 0 generate -q -o "$name.jsonl" -n 4 -i $options
done <<-'END'
	plain refs.jsonl -B 2 -N 4 -e 1 --lots off --ledger l --dataset d --stop END --stop auto --drop loops,duplicates --trace tr
	rho refs.jsonl -B 2 -N 2 -e 1 --lots off --ledger r --dataset d
	lots refs.jsonl -B 2 -N 4 -e 1 --lots on
	categories refs.jsonl -B 2 -N 4 -e 1 --category-field kind --categories sea,land --category-public --lots on
	private refs.jsonl -B 2 -N 4 -e 3 --category-field kind --categories sea,land
	units refs.jsonl -B 2 -N 3 -e 3 --unit-key who --records-per-unit all
	limited refs.jsonl -B 2 -N 3 -e 3 --unit-key who --one-per-unit
	owners refs.jsonl -B 2 -N 2 -e 3 --unit-key who --one-per-unit --lots on
	rounds refs.jsonl -B 2 -N 3 -e 3 --rounds 2 --public-examples open.jsonl
	saved refs.jsonl -B 2 -N 2 -e 3 --token-bank --public-when 0.5 --gain 1.5
	adapmixed refs.jsonl -B 2 -N 2 --method adapmixed --not-private
	dp-prompt refs.jsonl -B 1 -N 2 -e 400 --method dp-prompt --accountant zcdp
	pmixed refs.jsonl -B 2 -N 2 -e 40 --method pmixed
	amin refs.jsonl -B 3 -N 2 -e 10 --method amin --units 4 --svt-noise 4
END
for mix in all average capped; do
	exits 0 sanitize -i docs.jsonl -n 6 --template continue -q -o $mix.jsonl --mix $mix -e 40 --group PERSON --group DATE --no-sweep
done
exits 0 sanitize -i docs.jsonl -n 6 --template continue -q -o swept.jsonl --leave DATE -e 4
exits 0 perturb --words w.cw -i refs.jsonl -k 3 -q -o words.jsonl
exits 0 evolve -n 12 --seed 3 -i refs.jsonl -o evolved.jsonl -e 1 -N 4 --variations 2 --generations 1 -q
exits 0 expand -i categories.jsonl -o more.jsonl -N 3 -q
mkdir former && tar -xzf "$golden/receipts-0.2.0.tar.gz" -C former || exit 1
grep -qE '"guarantee": "(Post-processing.*)?Guarantee[^:]*: (whatever|whoever)' ./*.receipt.json && fail "today's words are former ones"
receipts=(./*.receipt.json) former=(former/*.receipt.json)
[ "${#receipts[@]} ${#former[@]}" = '21 27' ] || fail "receipts: ${receipts[*]} ${former[*]}"
receipts+=("${former[@]}")
# By day one in three of the former ones: their words differ, and their numbers are checked by the same code.
edited=("${receipts[@]}")
! short || edited=(./*.receipt.json former/{plain,lots,rounds,saved,swept,words,evolved,adapmixed,unmarked}.receipt.json)
"$edits" "${edited[@]}" >out || fail "edits are not noticed: $(cat out)"
for receipt in "${receipts[@]}"; do
	"$CUTTLE" receipt verify "$receipt" >out 2>err
	code=$?
	[[ $code = 0 || $code = 4 ]] || fail "receipt verify $receipt: exit $code: $(cat err)"
done

# Each number and word of a receipt is edited alone: verify refuses the receipt, or names the member as the word of whoever wrote it. A
# number that follows from others may be larger by one part in a million (io/receipts/attest.h), and no edit here is so small.
biases() { exits 0 learn -q -i refs.jsonl -e 3 --texts 20 --tokens 8 "$@"; }
biases -o one.bias
biases -o two.bias --category-field kind --categories sea,land --category-public
drawn=(generate -q -i refs.jsonl -n 4 -B 2 -N 4 -e 1 --bias one.bias)
exits 0 "${drawn[@]}" --lots off -o biased.jsonl
exits 0 "${drawn[@]}" --lots on -o biasedlots.jsonl
exits 0 generate -q -n 4 -B 0 -N 3 --bias one.bias -o sample.jsonl
exits 0 expand -q -i biased.jsonl --bias one.bias -N 2 -o further.jsonl
# edited NAME OLD NEW [ARGUMENT...]: the receipt with one text for another is refused.
edited() {
	local name=$1 old=$2 new=$3
	shift 3
	grep -qF -- "$old" "$name.receipt.json" || fail "$name.receipt.json has no $old"
	python3 -c 'import sys; sys.stdout.write(sys.stdin.read().replace(sys.argv[1], sys.argv[2]))' "$old" "$new" <"$name.receipt.json" >edited.json
	refused 7 receipt verify edited.json "$@"
}
# of NAME KEY: the first number of that key.
of() { sed -n "s/.*\"$2\": \([0-9][-0-9.e]*\).*/\1/p" "$1.receipt.json" | head -1; }
# What is copied of a bias follows from its rho and delta, although the sentence names none of it.
for name in biased biasedlots sample further; do
	epsilon=$(sed -n '/"bias": {/,/}/s/.*"epsilon": \([0-9.]*\).*/\1/p' $name.receipt.json)
	[ "$epsilon" != '' ] || fail "$name.receipt.json names no epsilon of its bias"
	edited $name "\"epsilon\": $epsilon" '"epsilon": 2.5'
	says err 'the epsilon of its bias does not follow from that one.s rho and delta$'
done
# The bias itself says its width, categories and records, so a receipt with its hash may say nothing else.
for name in one two; do exits 0 receipt verify $name.bias.receipt.json --output $name.bias; done
edited one.bias '"records": 24' '"records": 100000' --output one.bias
says err 'one.bias has other records than its receipt says$'
edited one.bias "\"width\": $(of one.bias width)" '"width": 2048' --output one.bias
edited one.bias "\"width\": $(of one.bias width)" '"width": 2' --output one.bias
edited two.bias '"categories": 2' '"categories": 1' --output two.bias
says err 'two.bias has other categories than its receipt says$'
edited two.bias '"categories": 2' '"categories": 3' --output two.bias
edited two.bias '"records": 24' '"records": 7' --output two.bias
exits 0 receipt verify one.bias.receipt.json
says out '^not checked: .*records, .*width: '
exits 0 receipt verify one.bias.receipt.json --output one.bias
grep -qE '^not checked: .*(records|width)' out && fail "the bias shows them: $(cat out)"
# Lots of a public category have its texts.
awk '/^      "texts": 2/ { sub(2, ++seen == 1 ? 1 : 3) } { print }' categories.receipt.json >edited.json
cmp -s edited.json categories.receipt.json && fail "no texts were moved between categories"
refused 7 receipt verify edited.json
says err 'its lots do not have the texts of its categories$'
# What can move within a batch is listed.
for name in lots categories private; do
	exits 0 receipt verify $name.receipt.json
	says out '^not checked: .*lots\.records'
done
says out '^not checked: .*histogram\.counts'
# All kinds by night, where a thousand edits are tried; by day the two that have lists of numbers and a bias.
kinds=(biasedlots private)
nightly && kinds=(plain rho lots categories private units limited owners rounds saved pmixed amin all capped swept words evolved more one.bias two.bias biased
	biasedlots sample further)
python3 - "$CUTTLE" "${kinds[@]/%/.receipt.json}" <<'PYTHON' || exit 1
import re, subprocess, sys
HASH, NUMBER = re.compile("[0-9a-f]{64}"), re.compile(r"\d+")
def real(x):
    text = re.sub(r"e([+-])0*(\d)", lambda m: "e" + m.group(1).replace("+", "") + m.group(2), "%.17g" % x)
    return text if "." in text or "e" in text else text + ".0"
def edits(value):
    if value in ("true", "false"):
        return ["false" if value == "true" else "true"]
    if value[0] == '"':
        word = value[1:-1]
        return ['"%s%s"' % ("1" if word[0] == "0" else "0", word[1:])] if HASH.fullmatch(word) else ['"x%s"' % word]
    if value == "null":
        return ["1"]
    if re.fullmatch("[0-9]+", value):
        return [str(int(value) + 1)] + ([str(int(value) - 1)] if int(value) else [])
    return [real(float(value) * .9)]
failed, tried = False, 0
for path in sys.argv[2:]:
    lines, way = open(path).read().split("\n"), []
    for i, line in enumerate(lines):
        indent, key, value, comma = re.match(r'( *)(?:"([^"]+)": )?(.*?)(,?)$', line).groups()
        if key:
            way = way[:len(indent) // 2 - 1] + [key]
        if not value or value[0] in "{}[]":
            continue
        for edit in edits(value):
            with open("edit.json", "w") as file:
                file.write("\n".join(lines[:i] + [indent + ('"%s": ' % key if key else "") + edit + comma] + lines[i + 1:]))
            run = subprocess.run([sys.argv[1], "receipt", "verify", "edit.json"], capture_output=True, text=True)
            tried += 1
            if run.returncode == 0:
                words = re.search("^not checked: (.*?): ", run.stdout, re.M).group(1).split(", ")
                if way[0] not in words and ".".join(way[:2]) not in words:
                    failed = True
                    print("FAILED: receipts.sh: %s: %s %s as %s is neither refused nor listed" % (path, ".".join(way), value, edit))
            elif run.returncode not in (4, 7):
                failed = True
                print("FAILED: receipts.sh: %s: %s as %s: exit %d: %s" % (path, ".".join(way), edit, run.returncode, run.stderr))
if tried < 60 * len(sys.argv[2:]):
    failed = print("FAILED: receipts.sh: only %d edits" % tried) or True
sys.exit(failed)
PYTHON

# A receipt of a run with a token prior, as cuttle 0.1 and 0.2.0 wrote them: nothing here checks its numbers.
sed 's/^  "top_k":/  "token_prior": {"kept": 3, "public_texts": 20, "rho": 0.05},\n&/' plain.receipt.json >old.json
grep -q token_prior old.json || fail "nothing was added to the receipt"
refused 4 receipt verify old.json
says err 'old.json: this receipt is of a token prior, which cuttle 0.2 no longer checks: use the version that wrote it'
refused 4 expand -i plain.jsonl --receipt old.json -o further.jsonl -N 1
exit 0
