#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tests `cuttle evaluate --schema` on records whose numbers are computed by hand here. It fails if a
# distance, an association, a dependence or a share that fits is another one; if absent, null, or a
# number that no real record is near counts as something else; if a table of private records is not
# stamped in each of its forms or others may read it; if a model or noise is taken; or if a file of
# other lines is measured.
# shellcheck source=/dev/null
. "$(dirname "$(realpath "$0")")/check.bash"
export CUTTLE_MODEL=/nowhere/model.gguf
stamp='PRIVATE: computed from the references without protection\. Keep it where the references are; do not publish it\.'

cat >visit.schema.json <<'TEXT'
{"type":"object","properties":{
 "day":{"type":"string","format":"date"},
 "ward":{"enum":["A","B"]},
 "stay":{"type":"object","properties":{"nights":{"type":"integer"}},"required":["nights"]},
 "more":{"type":["number","null"]},
 "note":{"type":"string"}},
 "required":["day","ward","stay"]}
TEXT
# visit WARD NIGHTS DAY [MEMBERS]
visit() { echo "{\"ward\":\"$1\",\"stay\":{\"nights\":$2},\"day\":\"$3\",\"other\":9${4-}}"; }
for ((i = 0; i < 6; i++)); do visit A 1 2024-02-2$((8 + i % 2)); done >real.jsonl
for ((i = 0; i < 6; i++)); do visit B 5 2024-02-2$((8 + i / 2 % 2)); done >>real.jsonl
# Both marginals of ward and nights are kept, and they know nothing of each other. One day is too late.
{
	visit A 1 2024-02-28 ',"more":null'
	visit A 5 2024-02-29 ',"more":7'
	visit B 1 2024-02-28
	visit B 5 2025-02-28 ',"more":7.5'
	visit C 5 2024-02-28
} >run.jsonl
run=(evaluate --schema visit.schema.json -i run.jsonl --against real.jsonl)

# number ROW MEASURE [FIELD [OTHER]]: a value of the CSV, and its error.
number() {
	python3 - "$@" <<-'TEXT' || fail "no number $*"
		import csv, sys
		row, measure, field, other = (sys.argv[1:] + ["", ""])[:4]
		for line in csv.DictReader(open("t.csv")):
		    if (line["name"] == row or line["kind"] == row) and line["measure"] == measure and line["field"] == field and line["other"] == other:
		        print("%.6f" % float(line["value"]), "%.6f" % float(line["error"]))
	TEXT
}
# is WANTED ROW MEASURE [FIELD [OTHER]]
is() {
	local got
	got=$(number "${@:2}")
	[ "${got% *}" = "$1" ] || fail "${*:2} is $got instead of $1: $(cat t.csv)"
}

# ---- the numbers ---------------------------------------------------------------------------------
exits 0 "${run[@]}" --public -o t.csv
[ -z "$(cat out err)" ] || fail "words about public records: $(cat out err)"
is 0.800000 run.jsonl valid
is 1.000000 'real against real' valid
# At least so many fit, with 99 %: of five trials four or more are right with a chance of 1 %.
bound=$(python3 -c 'low, high = 0, 1
for _ in range(60):
    p = (low + high) / 2
    low, high = (p, high) if 5 * p**4 * (1 - p) + p**5 < .01 else (low, p)
print("%.6f" % (.8 - low))')
[ "$(number run.jsonl valid)" = "0.800000 $bound" ] || fail "valid: $(number run.jsonl valid) instead of $bound"
is 0.000000 run.jsonl distance ward
is 0.000000 run.jsonl distance /stay/nights
# 2024-02-29 is half of the real days and a quarter of the run's; a quarter is after all real ones.
is 0.250000 run.jsonl distance day
# All real ones are absent: null is not, nor is a number.
is 0.750000 run.jsonl distance more
is 0.250000 run.jsonl distance
is 0.500000 run.jsonl joint ward /stay/nights
is 0.500000 run.jsonl apart ward /stay/nights
is 1.000000 run.jsonl v_real ward /stay/nights
is 0.000000 run.jsonl v ward /stay/nights
is 1.000000 run.jsonl v_difference ward /stay/nights
is 0.500000 run.jsonl dependence ward /stay/nights
# Of `more` the run has null, two numbers and an absent one. It knows a bit of ward: A has the null, B the absent one.
is 0.250000 run.jsonl dependence ward more
# It knows the nights: both numbers stand with 5.
is 0.500000 run.jsonl dependence /stay/nights more
# The date is no key: (.5 + .25 + .5) / 3, and of real records ward and nights alone are tied.
is 0.416667 run.jsonl knd
is 0.166667 run.jsonl knd_apart
grep -q '"note"\|"other",' t.csv && fail "a text or a member without a schema is measured"
# Halves of the real records: of every other one.
is 0.000000 'real against real' distance ward
for measure in joint v_difference dependence; do is 0.000000 'real against real' $measure ward /stay/nights; done
[ "$(number run.jsonl distance ward)" != '0.000000 0.000000' ] || fail "a distance of four records without an error"
exits 0 "${run[@]}" --public --format csv
same out t.csv "errors are others in another run"
[ "$(awk -F, 'NR > 1 && NF != 8' t.csv | wc -l)" = 0 ] || fail "columns: $(cat t.csv)"

# More values than can be told apart: the first 61 alone, since all are equally common.
echo "{\"type\":\"object\",\"properties\":{\"n\":{\"enum\":[$(seq -s, 0 99)]}},\"required\":[\"n\"]}" >many.schema.json
for ((i = 0; i < 100; i++)); do echo "{\"n\":$i}"; done >all.jsonl
for ((i = 0; i < 8; i++)); do echo '{"n":80.0}'; done >one.jsonl
exits 0 evaluate --schema many.schema.json -i one.jsonl --against all.jsonl --public -o t.csv --overwrite
is 0.610000 one.jsonl distance n
says t.csv '^run,"one\.jsonl",no,knd,,,,$'
# Ties go to what is common: 80 stands alone when it is.
for ((i = 0; i < 100; i++)); do echo '{"n":80}'; done >>all.jsonl
exits 0 evaluate --schema many.schema.json -i one.jsonl --against all.jsonl --public -o t.csv --overwrite
is 0.495000 one.jsonl distance n

# ---- private: stamped everywhere, for its owner alone --------------------------------------------
umask 000
for form in md json csv; do
	exits 0 "${run[@]}" --private -o p.$form
	says err "^$stamp$"
	[ "$(wc -l <err)" = 1 ] || fail "more than the stamp: $(cat err)"
	[ "$(stat -c %a p.$form)" = 600 ] || fail "mode $(stat -c %a p.$form) of p.$form"
done
umask 022
[ "$(grep -Ec "^\*\*$stamp\*\*$" p.md)" = 2 ] || fail "the stamp of Markdown: $(cat p.md)"
says p.json '"private": true,$'
says p.json "\"stamp\": \"$stamp\""
[ "$(sed 1d p.csv | grep -vc ',PRIVATE,')" = 0 ] || fail "the stamp of CSV: $(cat p.csv)"
for form in md json csv; do
	exits 0 "${run[@]}" --public -o q.$form
	grep -q PRIVATE q.$form && fail "public numbers have a stamp"
	[ "$(stat -c %a q.$form)" = 644 ] || fail "mode $(stat -c %a q.$form) of q.$form"
done
same <(sed '/"private"/d; /"stamp"/d' q.json) <(sed '/"private"/d; /"stamp"/d' p.json) "private numbers are others"
refused 2 "${run[@]}"
says err 'missing: --public or --private; '
# A run whose receipt says that nothing protects it makes the table private; so does the baseline.
cp run.jsonl beside.jsonl
echo '{"note":"NOT PRIVATE"}' >beside.receipt.json
for unprotected in '-i beside.jsonl' '-i run.jsonl --baseline beside.jsonl'; do
	rm -f n.json
	# shellcheck disable=SC2086
	exits 0 evaluate --schema visit.schema.json $unprotected --against real.jsonl --public -o n.json
	says err '^PRIVATE: a run says NOT PRIVATE'
	says n.json '"private": true,$'
	[ "$(stat -c %a n.json)" = 600 ] || fail "mode of $unprotected"
done
says n.json '"kind": "public prompt alone"'
# A run's file has its hash, as receipts name it; that of real records is nobody's business.
says q.json "\"sha256\": \"$(hash_of run.jsonl)\""
says q.json "\"schema_sha256\": \"$(hash_of visit.schema.json)\""
grep -q "$(hash_of real.jsonl)" q.json && fail "the hash of the real records"

# ---- what the table says -------------------------------------------------------------------------
says q.md '^12 real records of real\.jsonl, 12 of which fit the schema visit\.schema\.json\.'
says q.md '^\*\*Too few to tell: of the smallest file 4 records fit\.'
says q.json '"too_few": true,$'
says q.md '^\| run\.jsonl \| 5 \| 4 \| 0\.800 − '
says q.md '^\| ward, /stay/nights \| 0\.500 ± '
# All 6 pairs; in Markdown the first is that which depends most.
[ "$(sed -n '/^Pairs of fields, run/,/^A dist/p' q.md | grep -c ' ± ')" = 6 ] || fail "pairs: $(cat q.md)"
sed -n '/^Pairs of fields, run/,$p' q.md | sed -n 5p | grep -q '^| ward, /stay/nights |' || fail "the first pair: $(cat q.md)"
python3 -c 'import json, sys
t = json.load(open("q.json"))
assert t["fields_evaluation"] == 1 and [f["kind"] for f in t["fields"]] == ["date", "category", "number", "number"], t["fields"]
assert [f["key"] for f in t["fields"]] == [False, True, True, True]
pair = [p for p in t["rows"][1]["pairs"] if p["one"] == "ward" and p["other"] == "/stay/nights"][0]
assert pair["dependence"]["value"] == .5 and pair["key"] and t["rows"][1]["compared"] == 4 and t["rows"][1]["against"] == 12
assert t["rows"][0]["compared"] == 6 == t["rows"][0]["against"]' || fail "JSON: $(cat q.json)"
refused 4 report q.json -o report.html
# Names of a schema cannot leave their cell.
sed 's/"ward"/"=w|d"/g' visit.schema.json >odd.schema.json
for file in real run; do sed 's/"ward"/"=w|d"/' $file.jsonl >odd.$file.jsonl; done
exits 0 evaluate --schema odd.schema.json -i odd.run.jsonl --against odd.real.jsonl --public
says out '^\| =w\\\|d \| category \|'
exits 0 evaluate --schema odd.schema.json -i odd.run.jsonl --against odd.real.jsonl --public --format csv
says out '^run,"odd.run.jsonl",no,distance," =w\|d",,0,'

# ---- wrong input ---------------------------------------------------------------------------------
refused 4 evaluate --schema visit.schema.json -i real.jsonl --against real.jsonl --public
says err 'is the file of --against: texts cannot be measured against themselves$'
: >empty.jsonl
for ((i = 0; i < 9; i++)); do echo '{"text":"other lines"}'; done >other.jsonl
head -3 run.jsonl >three.jsonl
for file in empty other three; do
	refused 4 evaluate --schema visit.schema.json -i $file.jsonl --against real.jsonl --public
	says err "^cuttle evaluate: $file\.jsonl must hold at least 4 records that fit the schema; "
	refused 4 evaluate --schema visit.schema.json -i run.jsonl --against $file.jsonl --public
done
echo '{"type":"string"}' >text.schema.json
refused 4 evaluate --schema text.schema.json -i run.jsonl --against real.jsonl --public
says err 'text\.schema\.json: a record must be an object'
echo '{"type":"object","properties":{"note":{"type":"string"}}}' >note.schema.json
refused 4 evaluate --schema note.schema.json -i run.jsonl --against real.jsonl --public
says err 'note\.schema\.json has no field of categories, numbers or dates'
# wide FIELDS: a schema of so many.
wide() { echo "{\"type\":\"object\",\"properties\":{$(for ((i = 1; i <= $1; i++)); do echo "\"f$i\":{\"type\":\"integer\"}"; done | paste -sd,)}}"; }
wide 65 >wide.schema.json
refused 4 evaluate --schema wide.schema.json -i run.jsonl --against real.jsonl --public
says err 'wide\.schema\.json has more than 64 fields'
wide 64 >wide.schema.json
exits 0 evaluate --schema wide.schema.json -i run.jsonl --against real.jsonl --public
says out '^Pairs of fields, run\.jsonl, the 15 of 2016 that depend most on each other:$'
refused 4 evaluate --schema real.jsonl -i run.jsonl --against real.jsonl --public
refused 4 evaluate --schema none.json -i run.jsonl --against real.jsonl --public
for words in '-m m.gguf' '--text-field note' '--against-field note' '--lexicon terms' '--task ward --test real.jsonl' '--equal-texts' '--features-a a.npy --features-b b.npy'; do
	# shellcheck disable=SC2086
	refused 2 "${run[@]}" --public $words
	says err '^cuttle evaluate: --schema compares fields, without a model\.'
done
for words in '-e 1' '-e 1 --ledger l.db --dataset d' '--ledger l.db --dataset d' '--unit-key who' '--insecure-seed 1'; do
	# shellcheck disable=SC2086
	refused 2 "${run[@]}" --private $words
	says err '^cuttle evaluate: --schema asks nothing through noise'
done
# Names within an object, long ones too, are not those of members that are called so, and lead nowhere.
long=$(printf 'y%.0s' {1..300})
echo "{\"type\":\"object\",\"properties\":{\"/p/q\":{\"enum\":[1,2]},\"[x](y)\":{\"enum\":[1]},\"p\":{\"type\":\"object\",\"properties\":{
	\"q\":{\"enum\":[5,6]},\"$long\":{\"enum\":[1,2]}}}}}" >inner.schema.json
for i in {1..6}; do echo "{\"/p/q\":1,\"p\":{\"q\":5,\"$long\":1}}"; done >inner.real.jsonl
sed "s/\"q\":5,\"$long\":1/\"q\":6,\"$long\":2/" inner.real.jsonl >inner.run.jsonl
exits 0 evaluate --schema inner.schema.json -i inner.run.jsonl --against inner.real.jsonl --public
says out "^. /p/$long . category .*. 1\.000 ± 0\.000 .$"
[ "$(grep -c '^| /p/q | category |.* 1\.000 ± 0\.000 |$' out)" = 1 ] || fail "not one field /p/q is other: $(cat out)"
says out '^. \\\[x\]\(y\) . category '
# The texts of a field are a table of their own, by the same files.
for file in real run; do for i in {1..5}; do visit A 1 2024-02-28 ",\"note\":\"The $file note $i.\""; done >noted.$file.jsonl; done
make_tiny finite
exits 0 evaluate -m tiny.gguf -q -i noted.run.jsonl --against noted.real.jsonl --text-field note --against-field note --public --format csv
says out '^run,"noted\.run\.jsonl",no,5,5,0,'
echo mine >mine.md
refused 2 "${run[@]}" --public -o mine.md
[ "$(cat mine.md)" = mine ] || fail "a file of the user is gone"
coreless evaluate --schema visit.schema.json -i run.jsonl --against - --private
