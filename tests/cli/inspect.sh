#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tests `cuttle inspect`. It fails if a count differs from the records, whose state is known here,
# if the cut differs from that of generate, or if the suggested generate line does not run. It
# fails if a verb does not refuse a file of another format by that format's name.
# shellcheck source=/dev/null
. "$(dirname "$(realpath "$0")")/check.bash"
need_tiny finite
unset CUTTLE_MODEL

# member FILE PATH: a value of the JSON report, in Python's words.
member() { python3 -c "import json, sys; print(json.load(open(sys.argv[1]))$2)" "$1" || fail "$1 has no $2"; }
# tells PATH WANTED
tells() { [ "$(member out "$1")" = "$2" ] || fail "$1 is $(member out "$1") instead of $2"; }

{
	echo '{"note":"one two three","who":"a","ward":"x"}'
	echo '{"note":"one two three","who":"a","ward":"x"}'
	echo '{"note":"four","who":"a","ward":"y, z"}'
	echo '{"note":" five six ","who":7,"ward":"x"}'
	echo '{"note":7,"who":"b","ward":"it'"'"'s"}'
	echo '{"other":"seven"}'
	echo '["note"]'
	echo 'not JSON'
	printf '{"note":"caf\xe9"}\n'
	printf '%s\n' '{"note":" \t "}'
	echo
	printf '{"note":"%s"}\n' "$(head -c 17000000 /dev/zero | tr '\0' a)"
} >notes.jsonl

# ---- what is counted -----------------------------------------------------------------------------
exits 0 inspect -i notes.jsonl --text-field note --unit-key who --category-field ward -B 2
[ ! -s err ] || fail "something on standard error: $(cat err)"
[[ $(head -1 out) == PRIVATE:* ]] || fail "the first line is not PRIVATE: $(head -1 out)"
says out '^records +12$'
says out '^readable +4, 1 of them the same'
says out '^null +8$'
says out '^bytes +least 4, .*, most 13$'
says out '^owners +3 values of who, 7 records without one$'
says out '^records each least 1, .* most 3$'
says out '^categories +3, 7 records without one$'
says out ' 3  ward: x$'
grep -Eq 'two|four|five|caf' out && fail "a document or an owner is in the report: $(cat out)"
exits 0 inspect -i notes.jsonl --text-field note --unit-key who --category-field ward -B 2 --json
[ "$(sed -n 2p out | cut -c1-22)" = '  "PRIVATE": "PRIVATE:' ] || fail "the first member is not PRIVATE: $(head -2 out)"
tells "['states']" "{'no_field': 1, 'not_json': 2, 'nan': 0, 'half_pair': 0, 'not_text': 1, 'not_utf8': 1, 'too_long': 1, 'open_quote': 0, 'after_quote': 0, 'blank': 2, 'readable': 4}"
tells "['repeated']" 1
tells "['bytes']['50']" 8
tells "['records_per_owner']" "{'0': 1, '10': 1, '50': 1, '90': 1, '99': 1, '100': 3}"
tells "['without_owner']" 7
tells "['categories']" "[{'records': 3, 'ward': 'x'}, {'records': 1, 'ward': 'y, z'}, {'records': 1, 'ward': \"it's\"}]"
tells "['fields']" "['note', 'who', 'ward', 'other']"
cp out by_path
exits 0 inspect -i - --text-field note --unit-key who --category-field ward -B 2 --json <notes.jsonl
sed 's/notes.jsonl/-/' by_path >wanted
same out wanted "standard input is inspected otherwise"

# A field that no record has: the report names those that are there, and the line takes the one with the most text.
sed 12d notes.jsonl >few.jsonl
exits 0 inspect -i few.jsonl
says out 'no record has a text in the field text'
says out '^fields +note, who, ward, other$'
says out '^cuttle generate .*--text-field note '
printf 'who;note\na;"one; two"\nb\n' >notes.csv
exits 4 inspect -i notes.csv --delimiter ';'
says out '^fields +who, note$'
says err 'the header row has no column text'
exits 0 inspect -i notes.csv --delimiter ';' --text-field note
says out '^readable +1,'
says out ' 1  without the field'
# A broken quote is told with its line, and spoils no other record.
printf 'id,text\n1,"Note of Anna\n2,Note of Bert\n3,"Note" of Carl\n' >quotes.csv
exits 0 inspect -i quotes.csv
says out '^readable +1,'
says out ' 1  with a quote that is never closed: line 2$'
says out ' 1  with something behind a closing quote: line 4$'
exits 0 inspect --json -i quotes.csv
says out '^ *"broken_quote_lines": \[$'
: >empty.jsonl
exits 0 inspect -i empty.jsonl
says out '^records +0$'
says out 'no record to write from'

# ---- records of a schema -------------------------------------------------------------------------
cat >visit.schema.json <<'TEXT'
{"type":"object","properties":{
 "ward":{"enum":["A","B","C"]},
 "age":{"type":"integer","minimum":0,"maximum":99},
 "patient":{"type":"object","properties":{"sex":{"enum":["f","m",null]}},"required":["sex"]},
 "note":{"type":"string","maxLength":20}},
 "required":["ward","age","patient"]}
TEXT
visit='"age":7.0,"patient":{"sex":null},"x":1'
{
	echo "{$visit,\"ward\":\"A\"}"
	echo "{\"note\":\"Coughs.\",\"ward\":\"A\",$visit}"
	for ((i = 0; i < 2; i++)); do echo '{"ward":"A","age":100,"patient":{"sex":"f"}}'; done
	for ((i = 0; i < 3; i++)); do echo "{\"ward\":\"secret ward $i\",$visit}"; done
	echo '{"ward":"A","age":7}'
	echo '[]'
} >visits.jsonl
exits 0 inspect -i visits.jsonl --schema visit.schema.json -B 2
says out '^readable +2, 0 of them'
says out '^null +7$'
says out '^ +6  that does not fit the schema$'
same <(sed -n '/^fail at/,/required$/p' out) <(printf '%-13s3 places of the schema first\n%21d  %s\n%21d  %s\n%21d  %s\n' 'fail at' 3 /properties/ward/enum 2 /properties/age/maximum 1 /required) "other places"
# The canonical texts: {"ward": "A", "age": 7, "patient": {"sex": null}}, and one with a note.
says out '^bytes +least 49, .*, most 68$'
says out '^cuttle generate .*--schema visit\.schema\.json '
grep -q secret out && fail "a word of a record is in the report"
exits 0 inspect -i visits.jsonl --schema visit.schema.json --json
tells "['states']['misfit']" 6
tells "['misfit_places']" 3
tells "['misfits']" "[{'place': '/properties/ward/enum', 'records': 3}, {'place': '/properties/age/maximum', 'records': 2}, {'place': '/required', 'records': 1}]"
tells "['bytes']['100']" 68
# Of more than ten places the commonest are told.
{
	printf '{"type":"object","properties":{'
	for i in {a..l}; do printf '"%s":{"const":1},' "$i"; done
	printf '"z":{"type":"string"}}}\n'
} >many.schema.json
for i in {a..l}; do echo "{\"$i\":2}"; done >many.jsonl
echo '{"l":3}' >>many.jsonl
exits 0 inspect -i many.jsonl --schema many.schema.json
says out '^fail at +12 places of the schema first$'
[ "$(sed -n '/^fail at/{n;p;}' out)" = "$(printf '%21d  /properties/l/const' 2)" ] || fail "the commonest is not the first: $(cat out)"
[ "$(grep -c '/const$' out)" = 10 ] || fail "places: $(cat out)"
says out '^ +\.\.\.  and more$'
exits 0 inspect -i empty.jsonl --schema visit.schema.json
says out 'no record to write from'
echo '{"type":"string"}' >text.schema.json
refused 4 inspect -i visits.jsonl --schema text.schema.json
says err 'text\.schema\.json: a record must be an object'
refused 4 inspect -i visits.jsonl --schema visits.jsonl
refused 4 inspect -i visits.jsonl --schema none.json
for words in '--text-field note' '--category-field ward' '--input-format csv'; do
	# shellcheck disable=SC2086
	refused 2 inspect -i visits.jsonl --schema visit.schema.json $words
	says err '^cuttle inspect: --schema '
done

# ---- the cut is generate's -----------------------------------------------------------------------
for ((i = 1; i <= 30; i++)); do
	echo "{\"text\":\"word$(seq -s" word" 1 $i)\"}"
done >long.jsonl
pace
for plan in "-c 256 -n 20" "-c 256 -n 100 --kind letter" "-c 200 -n 10 --template instruct --system Hello."; do
	# shellcheck disable=SC2086 # a list of options
	exits 0 generate -m tiny.gguf --clip 0.5 -q --dry-run --bench pace.json $plan
	room=$(sed -n 's/^context.* at most \([0-9]*\) of a reference$/\1/p' out)
	cut=$("$CUTTLE" tokenize -m tiny.gguf -i long.jsonl | awk -F, -v room="$room" 'NF > room { cut++ } END { print cut + 0 }')
	((cut > 0 && cut < 30)) || fail "$plan cuts $cut of 30 documents: that shows nothing"
	# shellcheck disable=SC2086
	exits 0 inspect -m tiny.gguf -i long.jsonl --json $plan
	tells "['cut']" "$cut"
	tells "['reference_tokens']" "$room"
done

# ---- the line runs -------------------------------------------------------------------------------
# It reads all records, and no length and no null record moves it.
for ((i = 0; i < 9; i++)); do echo "{\"note\":\"Note $i.\",\"who\":$((i / 2)),\"ward\":\"it's $((i % 2))\"}"; done >refs.jsonl
line_of() { "$CUTTLE" inspect "$@" | sed -n '/^cuttle generate/p'; }
runs() { # LINE TEXTS
	local words made
	eval "words=($1)"
	made=${1##* -o }
	made=${made%% *}
	exits 0 "${words[@]:1}" -m tiny.gguf -n 2 -q
	[ "$(wc -l <"$made")" = "$2" ] || fail "$1 writes $(wc -l <"$made") texts instead of $2"
}
runs "$(line_of -i refs.jsonl --text-field note -B 2)" 4
runs "$(line_of -i refs.jsonl -B 2 --kind "ward's note")" 4
runs "$(line_of -i refs.jsonl --text-field note -B 31)" 1
runs "$(line_of -i refs.jsonl --text-field note -B 2 --unit-key who --category-field ward)" 4
# None of these lines takes the name of what stands.
[ "$(echo out*.jsonl)" = 'out-2.jsonl out-3.jsonl out-4.jsonl out.jsonl' ] || fail "the lines wrote $(echo out*)"
rm out*.jsonl out*.json
runs "$(line_of -i visits.jsonl --schema visit.schema.json -B 4)" 2
python3 -c 'import json, sys; [json.loads(line)["ward"] for line in sys.stdin]' <out.jsonl || fail "no objects: $(cat out.jsonl)"
exits 0 inspect -m tiny.gguf -i visits.jsonl --schema visit.schema.json -n 2
says out '^cut +0: a context of '
rm out*.jsonl out*.json
# The names stand in an order that tells no counts.
for many in a b; do
	for ((i = 0; i < 10; i++)); do echo "{\"text\":\"x\",\"who\":$i,\"ward\":\"$([ $((i % 2)) = 0 ] && echo $many || echo a)\"}"; done >order.jsonl
	for i in 10 11 12; do echo "{\"text\":\"x\",\"who\":$i,\"ward\":\"b\"}"; done >>order.jsonl
	exits 0 inspect -i order.jsonl -B 2 --unit-key who --category-field ward
	says out ' --categories a,b --category-public '
	says out '^Choose: protect each who as a whole, or keep the category of each record secret\. This line does the first'
done
# Declared categories that no record has are told, and how many records are in none.
exits 0 inspect -i order.jsonl --category-field ward --categories B,a,D
says out '^declared +3, 8 of 13 records are in none of them: capitals count$'
says out '^ +0  ward: B$'
says out '^ +0  ward: D$'
grep -Eq '^ +0  ward: a' out && fail "a category with records is called empty: $(cat out)"
exits 0 inspect -i order.jsonl --category-field ward --categories B,a --json
tells "['declared']" "{'records_in_none': 8, 'without_records': ['ward: B']}"
# A name that looks like a file of another kind is told here, and refused by what would pay for it.
exits 0 inspect -i order.jsonl --category-field ward --categories cats.txt
says out 'a file ends in .csv or .jsonl'
refused 2 generate -m tiny.gguf -i order.jsonl -o never.jsonl -e 5 -B 2 -N 2 -n 4 --category-field ward --categories cats.txt
says err 'this one name looks like a file'
refused 2 generate -m tiny.gguf -i order.jsonl -o never.jsonl -e 5 -B 2 -N 2 -n 4 --category-field ward
says err '--category-field FIELD --categories A,B,C'
# generate cannot say which categories no record has. It says how to see that.
exits 0 generate -m tiny.gguf -i order.jsonl -o warned.jsonl -e 5 -B 2 -N 2 -n 2 --category-field ward --categories B,a
says err '^A record of no declared category is read as nothing, and capitals count\. '
# A column that differs in capitals is missed: the header row is public.
printf 'text,Ward\nx,a\ny,a\n' >capitals.csv
exits 4 inspect -i capitals.csv --category-field ward
says err "no column ward, but Ward: give --category-field 'Ward'"
refused 4 generate -m tiny.gguf -i capitals.csv -o never.jsonl -e 5 -B 1 -N 1 -n 4 --category-field ward --categories a --lots off --category-public
says err "no column ward, but Ward: give --category-field 'Ward'"
exits 4 inspect -i order.jsonl --category-field ward --categories capitals.csv
says err "no column ward, but Ward: give --category-field 'Ward'"
# Names that a list cannot hold, or several fields, take a file.
sed 's/"it.s 0"/"a, b"/' refs.jsonl >commas.jsonl
printf 'ward\n"a, b"\nit'"'"'s 1\n' >categories.csv
runs "$(line_of -i commas.jsonl --text-field note -B 2 --unit-key who --category-field ward)" 4
printf 'ward,share\nit'"'"'s 0,2\nit'"'"'s 1,1\n' >shares.csv
runs "$(line_of -i refs.jsonl --text-field note -B 1 --category-field ward --categories shares.csv)" 6
# Categories and clusters stay private. The line has lots for half of the records, and nothing that the records say.
for i in $(seq 1 400); do echo "{\"note\":\"sail $i rope\",\"ward\":\"w$((i % 2))\"}"; done >many.jsonl
for i in $(seq 1 40); do printf '{"text":"sail %d rope"}\n{"text":"oven flour"}\n' "$i"; done >public.jsonl
exits 0 clusters -i public.jsonl --clusters 2 -o two.clusters -q
stays_private() { # ARG...
	rm -f out*.jsonl out*.json
	line=$(line_of -i many.jsonl --text-field note -B 2 "$@")
	says <(echo "$line") ' -B 2 (--categories categories.csv )?-N 100$'
	grep -Eq 'category-public|w0|share' <<<"$line" && fail "the line tells what is private: $line"
	sed 's/"w0"/"w7"/' many.jsonl >other.jsonl
	[ "$(line_of -i other.jsonl --text-field note -B 2 "$@")" = "${line/many/other}" ] || fail "categories move the line: $line"
	eval "words=($line)"
	exits 0 "${words[@]:1}" -m tiny.gguf -n 2 -q
	exits 0 receipt verify out.receipt.json --output out.jsonl
	says out 'in 200 were used'
}
stays_private --category-field ward --categories w,x,w1
printf 'ward\nw1\nw2\n' >categories.csv
stays_private --category-field ward
stays_private --clusters two.clusters
exits 0 inspect -i many.jsonl --text-field note -B 2 --clusters two.clusters -m tiny.gguf -c 256 -n 20
says out "^How long .* --reference-tokens $(sed -n 's/^tokens .* 50 % \([0-9]*\),.*/\1/p' out), the median\.\$"
says out 'The clusters stay private'
line=$(line_of -i refs.jsonl --text-field note --unit-key who --category-field ward -B 2)
says <(echo "$line") "--one-per-unit"
sed 's/"Note [1-5]./"A much longer note than it was before./; s/"Note 6."/7/' refs.jsonl >moved.jsonl
[ "$(line_of -i moved.jsonl --text-field note --unit-key who --category-field ward -B 2)" = "${line/refs/moved}" ] ||
	fail "what documents say moves the generate line"
exits 0 inspect -i refs.jsonl --text-field note --category-field ward --unit-key who -B 7
says out 'fewer than B = 7 records of a category'

refused 2 inspect
refused 2 inspect -i refs.jsonl -B 0
refused 2 inspect -i refs.jsonl --categories a
refused 2 inspect -i refs.jsonl --clusters two.clusters --category-field ward
refused 2 inspect -i refs.jsonl stray
refused 2 inspect -i refs.jsonl -m tiny.gguf -c 10
refused 4 inspect -i /nonexistent
refused 5 inspect -i refs.jsonl -m refs.jsonl
"$CUTTLE" inspect -i refs.jsonl >/dev/full 2>err
[ $? = 1 ] || fail "a full disk is not noticed"

coreless inspect -i -

# ---- formats that are not ours -------------------------------------------------------------------
export CUTTLE_MODEL=tiny.gguf
"$CUTTLE" ledger init --ledger l --dataset notes --epsilon-limit 10 >/dev/null || fail "no ledger"
"$CUTTLE" ledger export --ledger l >before
gzip -c refs.jsonl >refs.jsonl.gz
cp refs.jsonl.gz named.jsonl
cp refs.jsonl refs.json
cp refs.jsonl refs.xlsx
run=(generate -e 3 -B 2 -N 1 -n 2 --text-field note -q -o never.jsonl --ledger l --dataset notes)
while read -r file advice; do
	refused 4 "${run[@]}" -i "$file"
	says err "$file is .*$advice"
	refused 4 inspect -i "$file"
	refused 4 tokenize -i "$file"
	refused 4 score -i "$file"
	refused 4 "${run[@]}" -i refs.jsonl --public-examples "$file"
	says err "$file is .*$advice"
done <<-'END'
	refs.jsonl.gz zcat refs.jsonl.gz
	named.jsonl zcat named.jsonl
	refs.json jq -c '.\[\]' refs.json
	refs.xlsx libreoffice
END
refused 4 "${run[@]}" -i - <refs.jsonl.gz
says err 'standard input is compressed by gzip'
# A name is refused before the model is opened, which may take minutes; the paths come first. A mark is
# found when the file is read, after the model: the input may be a pipe, and is read once.
refused 4 "${run[@]}" -m absent.gguf -i refs.json --public-examples refs.xlsx
says err 'refs\.json is one JSON document'
refused 4 "${run[@]}" -m absent.gguf -i refs.jsonl --public-examples refs.xlsx
says err 'refs\.xlsx is a workbook'
refused 4 score -m absent.gguf -i refs.json
refused 2 "${run[@]}" -m absent.gguf -i refs.json --receipt refs.json
refused 5 "${run[@]}" -m absent.gguf -i named.jsonl
refused 5 "${run[@]}" -m absent.gguf -i refs.json --input-format jsonl
compgen -G 'never*' >/dev/null && fail "a refused run left something: $(echo never*)"
"$CUTTLE" ledger export --ledger l >after
same after before "a refused file was charged for"
# What the message says to type is read.
zcat refs.jsonl.gz | "$CUTTLE" "${run[@]}" -i - -o piped.jsonl 2>err || fail "zcat: $(cat err)"
exits 0 "${run[@]}" -i refs.json --input-format jsonl -o array.jsonl --insecure-seed 1

# TSV, by its ending or by its delimiter, is the CSV that it is; the delimiter is part of the command.
printf 'note,who\nNote one.,a\n"Note, two.",b\n' >refs.csv
printf 'note\twho\nNote one.\ta\nNote, two.\tb\n' >refs.tsv
cp refs.tsv tabs
seeded=(generate -e 3 -B 2 -N 1 -n 4 --text-field note -q --insecure-seed 1)
exits 0 "${seeded[@]}" -i refs.csv -o csv.jsonl
exits 0 "${seeded[@]}" -i refs.tsv -o tsv.jsonl
same tsv.jsonl csv.jsonl "TSV is read otherwise"
exits 0 "${seeded[@]}" -i tabs --delimiter '\t' -o tabs.jsonl
same tabs.jsonl csv.jsonl "--delimiter is read otherwise"
refused 2 "${seeded[@]}" -i refs.csv --delimiter , -o csv.jsonl
refused 2 "${seeded[@]}" -i refs.csv --delimiter tab -o never.jsonl
refused 2 "${seeded[@]}" -i refs.jsonl --input-format jsonl --delimiter , -o never.jsonl
