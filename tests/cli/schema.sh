#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tests `cuttle generate --grammar` and `--schema`. It fails if a text is none of its grammar or schema, if a record that does not fit
# shows, moves another one or counts as more than a null; if a forced token is paid; if a run that was stopped goes on otherwise; if a
# category's field has another value; if a receipt, an audit or shards lose the grammar, or a wrong one is taken.
# shellcheck source=/dev/null
. "$(dirname "$(realpath "$0")")/check.bash"
need_tiny finite
cat >visit.json <<'END'
{"type": "object",
 "properties": {
  "ward": {"enum": ["surgery", "oncology", "emergency"]},
  "age": {"type": "integer", "minimum": 0, "maximum": 120},
  "seen": {"type": "string", "format": "date"},
  "well": {"type": "boolean"},
  "note": {"type": "string", "minLength": 3, "maxLength": 30}},
 "required": ["ward", "age", "note"], "additionalProperties": false}
END
cat >letter.gbnf <<'END'
# A letter has a greeting, some words and an end.
root ::= "Dear " ("Ada" | "Ben") ",\n" line{1,3} "Yours, C.\n"
line ::= [a-z ]{1,12} ".\n"
END
echo '{"type": "object", "if": {}}' >if.json
echo '{"type": "string"}' >string.json
wards=(surgery oncology emergency)
for i in $(seq 0 59); do
	echo "{\"note\":\"note $i says so\",\"age\":$((i + 20)).0,\"ward\":\"${wards[i % 3]}\",\"seen\":\"2024-02-$((10 + i % 19))\",\"who\":$i,\"text\":\"Dear Ada, $i.\"}"
done >refs.jsonl
base=(generate -i refs.jsonl -B 3 -n 12 --clip 9 -k 0 -q --lots off)
seeded=("${base[@]}" --insecure-seed 3)

# ---- grammars ----------------------------------------------------------------------------------
# letters FILE: each text of an output is a letter, and its tokens are those that may be paid.
letters() {
	python3 - "$1" <<-'END'
		import json, re, sys
		lines = [json.loads(line) for line in open(sys.argv[1])]
		assert lines
		for line in lines:
		    assert re.fullmatch(r"Dear (Ada|Ben),\n([a-z ]{1,12}\.\n){1,3}Yours, C\.\n", line["text"]), line
		    assert line["tokens"] - line["free"] <= 12 and line["finish"] in ("eos", "closed"), line
		    assert line["free"] >= len("Dear ,\nda"), line
	END
}
exits 0 "${seeded[@]}" -N 4 --grammar letter.gbnf -o letters.jsonl
letters letters.jsonl || fail "a text is no letter: $(cat letters.jsonl)"
for file in letter.gbnf visit.json; do printf '\xef\xbb\xbf' | cat - "$file" >"marked.$file"; done
exits 0 "${seeded[@]}" -N 4 --grammar marked.letter.gbnf -o marked.jsonl
cmp letters.jsonl marked.jsonl || fail "a byte order mark before a grammar changes its letters"
exits 0 inspect -i refs.jsonl --schema marked.visit.json -n 12
exits 0 "${seeded[@]}" -N 4 --grammar letter.gbnf --complete -o complete.jsonl
letters complete.jsonl || fail "a completed text is no letter: $(cat complete.jsonl)"
grep -q '"closed"' complete.jsonl && fail "a completed text was brought to its end"
says letters.jsonl '"finish":"closed"'
exits 0 "${base[@]}" -N 2 --grammar letter.gbnf -o paid.jsonl
nothing_left paid.jsonl
exits 0 receipt verify paid.receipt.json --output paid.jsonl --grammar letter.gbnf
says out '^grammar +this is its grammar$'
says out 'Each text is one of a public grammar'
exits 0 receipt verify paid.receipt.json
says out 'grammar_sha256'
refused 7 receipt verify paid.receipt.json --grammar visit.json
edits_noticed paid.receipt.json <<-'END'
	/"grammar_sha256"/d
	s/"grammar_sha256"/"schema_sha256"/
	s/"free_tokens": [0-9]*/"free_tokens": 0/
END

# A run that was stopped goes on as it would have: with its own grammar, and with no other.
(ulimit -f 2 && trap '' XFSZ && exec "$CUTTLE" "${seeded[@]}" -N 12 --grammar letter.gbnf -o stopped.jsonl 2>err)
[ $? = 6 ] || fail "a full disk: $(cat err)"
echo '# another' | cat letter.gbnf - >other.gbnf
refused 2 "${seeded[@]}" -N 12 --grammar other.gbnf -o stopped.jsonl
exits 0 "${seeded[@]}" -N 12 --grammar letter.gbnf -o stopped.jsonl
exits 0 "${seeded[@]}" -N 12 --grammar letter.gbnf -o whole.jsonl
same stopped.jsonl whole.jsonl "a run that was stopped went on otherwise"

# ---- schemas -----------------------------------------------------------------------------------
# visits FILE [WARD]: each line is an object of the schema.
visits() {
	python3 - "$1" visit.json "${2-}" <<-'END'
		import json, sys
		lines = [json.loads(line) for line in open(sys.argv[1])]
		lines = [line.get("record", line) for line in lines]
		schema = json.load(open(sys.argv[2]))
		assert lines
		for line in lines:
		    assert list(line) == [name for name in schema["properties"] if name in line], line
		    assert line["ward"] in schema["properties"]["ward"]["enum"], line
		    assert not sys.argv[3] or line["ward"] == sys.argv[3], line
		    assert type(line["age"]) is int and 0 <= line["age"] <= 120, line
		    assert 3 <= len(line["note"]) <= 30, line
		try:
		    import jsonschema
		    check = jsonschema.Draft202012Validator(schema, format_checker=jsonschema.FormatChecker())
		    for line in lines: check.validate(line)
		except ImportError:
		    print("skipped: schema.sh: Python has no jsonschema to compare with")
	END
}
some=40
short && some=8
exits 0 generate -i refs.jsonl -B 1 -n 20 -e 8 -q --lots off -N $some --schema visit.json -o visits.jsonl
visits visits.jsonl || fail "a line is no visit: $(cat visits.jsonl)"
exits 0 receipt verify visits.receipt.json --output visits.jsonl --schema visit.json
says out '^schema +this is its schema$'
refused 7 receipt verify visits.receipt.json --schema letter.gbnf
exits 0 "${seeded[@]}" -N 4 --schema visit.json -o seeded.jsonl
says seeded.jsonl '^\{"record": \{"ward": .*\}, "private": false, "note": "NOT PRIVATE"\}$'
visits seeded.jsonl || fail "a seeded line is no visit: $(cat seeded.jsonl)"

# What a record says counts in the schema's form alone. One that does not fit is null, and nothing tells.
world() {
	sed -E "$1" refs.jsonl >world.jsonl
	exits 0 "${seeded[@]}" -i world.jsonl -N 2 --schema visit.json -o world.out.jsonl
	[ ! -s err ] || [ "$(grep -cv 'NOT PRIVATE' err)" = 0 ] || fail "a record is told of: $(cat err)"
	mv world.out.jsonl "$2"
	rm world.out.receipt.json
}
world '' all
world 's/,"who":[0-9]+//;s/"age":([0-9]+)\.0/"age": \1/;s/^\{("note":[^,]*),/{"extra":[1,{}],\1,/' same
world '2s/"age":[0-9.]+/"age":-1/' unfit
world '2s/.*/no JSON/' null
world '2s/surgery|oncology/dentist/' ward
world '2s/note 1/letter 1/' else
same same all "what the schema does not have is heard"
same unfit null "a record that does not fit is more than a null"
same ward null "a value that the schema does not have is heard"
cmp -s unfit all && fail "a null changes nothing"
cmp -s else all && fail "a record changes nothing"

# A category's field is written as it is, whatever the model would.
kinds=(--category-field ward --categories "surgery,emergency")
exits 0 "${base[@]}" -N 4 --schema visit.json "${kinds[@]}" --category-public -o kinds.jsonl
visits <(head -2 kinds.jsonl) surgery || fail "not of its category: $(cat kinds.jsonl)"
visits <(tail -2 kinds.jsonl) emergency || fail "not of its category: $(cat kinds.jsonl)"
exits 0 generate -i refs.jsonl -B 3 -n 12 -e 8 -q -N 4 --schema visit.json "${kinds[@]}" -o private.jsonl
exits 0 receipt verify private.receipt.json --output private.jsonl --schema visit.json

sed 's/"emergency"\]/"emergency", null]/' visit.json >null.json
refused 2 "${seeded[@]}" -N 2 --schema null.json --category-field ward --categories surgery,null --category-public -o x.jsonl
says err 'no record has null for its category of ward: leave it out$'

# Public examples are objects, too. A wrong one is named, as they are public.
head -2 refs.jsonl >examples.jsonl
exits 0 "${seeded[@]}" -N 2 --schema visit.json --public-examples examples.jsonl -o shown.jsonl
sed -i '2s/surgery\|oncology/dentist/' examples.jsonl
refused 4 "${seeded[@]}" -N 2 --schema visit.json --public-examples examples.jsonl -o x.jsonl
says err 'examples.jsonl: record 1 is one that does not fit the schema$'

# ---- tables ------------------------------------------------------------------------------------
# The rows of a table are the same records, and a null is one there, too.
python3 - <<-'END'
	import csv, json
	rows = [json.loads(line) for line in open("refs.jsonl")]
	for name, delimiter in (("refs.csv", ","), ("refs.txt", ";")):
	    with open(name, "w", newline="") as out:
	        table = csv.writer(out, delimiter=delimiter)
	        table.writerow(["who", "note", "seen", "age", "ward"])
	        for row in rows:
	            table.writerow([row["who"], row["note"], row["seen"], row["age"], row["ward"]])
END
exits 0 "${seeded[@]}" -i refs.csv -N 2 --schema visit.json -o rows.jsonl
same rows.jsonl all "a table is heard otherwise"
exits 0 "${seeded[@]}" -i refs.txt --delimiter ';' -N 2 --schema visit.json -o columns.jsonl
same columns.jsonl all "a table with ; is heard otherwise"
sed '3s/oncology/dentist/' refs.csv >odd.csv
exits 0 "${seeded[@]}" -i odd.csv -N 2 --schema visit.json -o odd.jsonl
same odd.jsonl unfit "a row that does not fit is more than a null"
# A name with spaces around it is quoted, as it would lose them.
echo '{"type":"object","properties":{" a ":{"const":1},"b c":{"const":2}},"required":[" a "]}' >spaces.json
exits 0 "${base[@]}" -N 2 --schema spaces.json -o spaces.csv
says spaces.csv '^" a ",b c.$'
exits 0 inspect -n 12 -i spaces.csv --schema spaces.json
says out '^readable +2,'

# Lots count the records of a table, too, and a number's category is the number.
for form in jsonl csv; do
	exits 0 generate -i refs.$form -B 3 -n 12 -e 8 -q -N 4 --insecure-seed 3 --schema visit.json "${kinds[@]}" -o lots.$form.jsonl
done
same lots.csv.jsonl lots.jsonl.jsonl "a table with lots is read otherwise"
[ -s lots.csv.jsonl ] || fail "a table with lots has no texts"
echo '{"type":"object","properties":{"floor":{"enum":[1,2]},"well":{"type":"boolean"}},"required":["floor"]}' >floor.json
printf 'floor,well\n1.0,True\n1,true\n2e0,False\n' >floor.csv
printf '{"floor":%s,"well":%s}\n' 1.0 true 1 true 2e0 false >floor.jsonl
for form in jsonl csv; do
	for kind in "floor 1,2" "well true,false"; do
		exits 0 inspect -n 12 -i floor.$form --schema floor.json --category-field "${kind% *}" --categories "${kind#* }"
		says out '^declared +2, 0 of 3 records are in none of them$'
	done
done
printf 'ward,age,note,seen\noncology,21,note 1 says so,\377\n' >broken.csv
exits 0 inspect -n 12 -i broken.csv --schema visit.json
says out '^readable +0,'
printf 'note,age\nabc,1\n' >wardless.csv
refused 4 "${seeded[@]}" -i wardless.csv -N 2 --schema visit.json -o x.jsonl
says err 'wardless.csv, line 1: the header row has no column ward, which the schema requires$'
exits 0 inspect -n 12 -i odd.csv --schema visit.json
says out '^readable +59,'
says out '^misfits +1  /properties/ward/enum$'

# Rows out are what lines are, and are read back.
exits 0 "${base[@]}" -N 4 --schema visit.json -o table.csv
python3 - <<-'END' || fail "a table of visits: $(cat table.csv)"
	import csv
	rows = list(csv.DictReader(open("table.csv", newline="")))
	assert len(rows) == 4 and list(rows[0]) == ["ward", "age", "seen", "well", "note"], rows
	for row in rows:
	    assert row["ward"] in ("surgery", "oncology", "emergency") and 0 <= int(row["age"]) <= 120, row
	    assert row["well"] in ("", "true", "false") and 3 <= len(row["note"]) <= 30, row
END
exits 0 receipt verify table.receipt.json --output table.csv --schema visit.json
exits 0 inspect -n 12 -i table.csv --schema visit.json
says out '^null +0$'
exits 0 "${seeded[@]}" -N 2 --schema visit.json -o stamped.csv
says stamped.csv '^ward,age,seen,well,note,NOT PRIVATE.$'
[ "$(grep -c ',NOT PRIVATE.$' stamped.csv)" = 3 ] || fail "a row without its stamp: $(cat stamped.csv)"
python3 - <<-'END' || fail "rows are not the lines: $(cat stamped.csv)"
	import csv, json
	lines = [json.loads(line)["record"] for line in open("all")]
	rows = list(csv.DictReader(open("stamped.csv", newline="")))
	assert len(lines) == len(rows) == 2
	for line, row in zip(lines, rows):
	    for name in ("ward", "age", "seen", "well", "note"):
	        value = line.get(name, "")
	        assert row[name] == (str(value).lower() if isinstance(value, bool) else str(value)), (line, row)
END
echo '{"type": "object", "properties": {"a": {"type": "object", "properties": {}}}}' >nested.json
refused 4 "${seeded[@]}" -N 2 --schema nested.json -o x.csv
says err '"/properties/a": a cell of a table holds no object or list: give JSONL, which does$'

# An audit goes through such a run, and wants its schema.
exits 0 audit invariant -i refs.jsonl --public --receipt visits.receipt.json --schema visit.json --games 2 -q
says out 'nothing contradicts the claim'
# It reads them in the schema's form, as the run did: a record needs no text, and one that does not fit is null.
sed 's/,"text":"[^"]*"//' refs.jsonl >textless.jsonl
exits 0 audit invariant -i textless.jsonl --public --receipt visits.receipt.json --schema visit.json --games 2 -q
says out 'nothing contradicts the claim'
mv out whole
sed 's/"age"/"aged"/' textless.jsonl >unfit.jsonl
exits 0 audit invariant -i unfit.jsonl --public --receipt visits.receipt.json --schema visit.json --games 2 -q
cmp -s out whole && fail "an audit reads records that do not fit"
# Its texts can be looked at, as any run's.
exits 0 audit overlap -i refs.jsonl --public --held-out textless.jsonl --text-field note --receipt visits.receipt.json --texts visits.jsonl --output-field note -q
refused 4 audit invariant -i refs.jsonl --public --receipt visits.receipt.json -q
says err 'of a run with a grammar or a schema: give it'
refused 4 audit invariant -i refs.jsonl --public --receipt visits.receipt.json --grammar letter.gbnf -q
says err 'of a run with another grammar or schema$'

# Which records fit, and where the others do not, for their owner alone.
sed -E '2s/oncology/dentist/;3s/"age":[0-9.]+/"age":121/;4s/surgery/x/;5s/.*/[]/' refs.jsonl >some.jsonl
exits 0 inspect -n 12 -i some.jsonl --schema visit.json
says out '^readable +56,'
says out '^ +3  that does not fit the schema$'
says out '^misfits +2  /properties/ward/enum$'
says out '^ +1  /properties/age/maximum$'
says out '^cuttle generate --input some.jsonl --schema visit.json '
exits 0 inspect -n 12 -i some.jsonl --schema visit.json --json
says out '"/properties/ward/enum": 2'
# The schema may be a pipe, with a model and without.
exits 0 inspect -n 12 -i some.jsonl --schema - <visit.json
says out '^readable +56,'
(unset CUTTLE_MODEL && exits 0 inspect -i some.jsonl --schema - <visit.json && says out '^readable +56,') || exit 1
refused 4 inspect -n 12 -i some.jsonl --schema if.json

# ---- texts of the public prompt alone ----------------------------------------------------------
exits 0 learn -i refs.jsonl --tokens 12 --texts 20 -e 3 -o n.bias -q
learn=(learn -i refs.jsonl --tokens 12 --texts 20 -e 3 -q --schema visit.json --category-public -o y.bias)
refused 2 "${learn[@]}" --category-field ward --categories surgery,dentist
says err '"dentist" is not in the schema.s enum of ward$'
refused 2 "${learn[@]}" --category-field age --categories 30,40
says err 'the schema has no enum of that name$'
free=(generate -B 0 --bias n.bias -n 12 -q)
# public_letters FILE: each text is a letter.
public_letters() {
	python3 - "$1" <<-'END'
		import json, re, sys
		lines = [json.loads(line) for line in open(sys.argv[1])]
		assert lines
		for line in lines:
		    assert re.fullmatch(r"Dear (Ada|Ben),\n([a-z ]{1,12}\.\n){1,3}Yours, C\.\n", line["text"]), line
		    assert line["finish"] in ("eos", "closed"), line
	END
}
exits 0 "${free[@]}" -N 6 --grammar letter.gbnf -o free.jsonl
public_letters free.jsonl || fail "a public text is no letter: $(cat free.jsonl)"
exits 0 receipt verify free.receipt.json --output free.jsonl --bias n.bias --grammar letter.gbnf
says out '^grammar +this is its grammar$'
says out 'Each text is one of a public grammar\.$'
refused 7 receipt verify free.receipt.json --grammar visit.json
edits_noticed free.receipt.json <<-'END'
	s/"grammar_sha256": "/"grammar_sha256": "g/
	s/\("seed": .*\)/\1\n  "schema_sha256": "0000000000000000000000000000000000000000000000000000000000000000",/
END
exits 0 "${free[@]}" -N 6 --grammar letter.gbnf --dry-run
says out '^grammar       of each text; what it leaves no choice about is free$'
(ulimit -f 2 && trap '' XFSZ && exec "$CUTTLE" "${free[@]}" -N 40 --grammar letter.gbnf -o on.jsonl 2>err) && fail "no room was needed"
refused 2 "${free[@]}" -N 40 --grammar other.gbnf -o on.jsonl
exits 0 "${free[@]}" -N 40 --grammar letter.gbnf -o on.jsonl
public_letters on.jsonl || fail "a text that went on is no letter: $(cat on.jsonl)"
exits 0 "${free[@]}" -N 6 --schema visit.json -o kind.jsonl "${kinds[@]}" --category-public
visits <(head -3 kind.jsonl) surgery || fail "not of its category: $(cat kind.jsonl)"
visits <(tail -3 kind.jsonl) emergency || fail "not of its category: $(cat kind.jsonl)"
exits 0 receipt verify kind.receipt.json --output kind.jsonl --schema visit.json
says out '^schema +this is its schema$'
refused 2 "${free[@]}" -N 2 --grammar letter.gbnf --schema visit.json -o x.jsonl
refused 2 "${free[@]}" -N 2 --grammar letter.gbnf --complete -o x.jsonl
refused 2 "${free[@]}" -N 2 --grammar letter.gbnf --free-tokens 90 -o x.jsonl
says err 'leave out --free-tokens$'
refused 4 "${free[@]}" -N 2 --grammar visit.json -o x.jsonl

# ---- more of them ------------------------------------------------------------------------------
more=(expand -q -n 12 --seed 5)
exits 0 "${more[@]}" -i paid.jsonl -N 5 --grammar letter.gbnf -o more.jsonl
public_letters more.jsonl || fail "a further text is no letter: $(cat more.jsonl)"
says more.jsonl '"parents":\[0,1\]'
exits 0 receipt verify more.receipt.json --output more.jsonl --parent paid.receipt.json --grammar letter.gbnf
says out '^grammar +this is its grammar$'
says out 'Each text is one of a public grammar\.$'
refused 7 receipt verify more.receipt.json --grammar visit.json
exits 0 "${more[@]}" -i visits.jsonl -N 6 --schema visit.json -o objects.jsonl
visits objects.jsonl || fail "a further line is no visit: $(cat objects.jsonl)"
exits 0 receipt verify objects.receipt.json --output objects.jsonl --parent visits.receipt.json --schema visit.json
says out '^schema +this is its schema$'
edits_noticed objects.receipt.json <<-'END'
	s/"schema_sha256": "/"schema_sha256": "g/
END
sed '/"schema_sha256"/d' objects.receipt.json >edited.json
refused 7 receipt verify edited.json --parent visits.receipt.json
says err 'of another grammar or schema$'
# A bias may be beside it, and other prompts, and what repeats a kept text is dropped.
exits 0 "${more[@]}" -i visits.jsonl -N 6 --schema visit.json --bias n.bias --template instruct --drop duplicates -o biased.jsonl
visits biased.jsonl || fail "a biased line is no visit: $(cat biased.jsonl)"
# Each category has its value, whichever came before.
exits 0 "${more[@]}" -i kinds.jsonl -N 12 --schema visit.json -o many.jsonl --parallel 2
visits many.jsonl || fail "a further line is no visit: $(cat many.jsonl)"
for ward in surgery emergency; do grep -q "\"ward\": \"$ward\"" many.jsonl || fail "no further text of $ward: $(cat many.jsonl)"; done
grep -q '"ward": "oncology"' many.jsonl && fail "a text of no category: $(cat many.jsonl)"
exits 0 "${more[@]}" -i kinds.jsonl -N 12 --schema visit.json -o - --parallel 1
same out many.jsonl "texts in flight decide"
# A run that was stopped goes on as it would have.
(prlimit --fsize=900 --pid "$BASHPID" && "$CUTTLE" "${more[@]}" -i kinds.jsonl -N 12 --schema visit.json -o on2.jsonl 2>err) && fail "no room was needed"
exits 0 "${more[@]}" -i kinds.jsonl -N 12 --schema visit.json -o on2.jsonl
same on2.jsonl many.jsonl "a run that was stopped went on otherwise"
# Kept texts of any form may be examples of a grammar. Others need their own file.
exits 0 "${base[@]}" -N 4 -o any.jsonl
exits 0 "${more[@]}" -i any.jsonl -N 3 --grammar letter.gbnf -o formed.jsonl
public_letters formed.jsonl || fail "a further text is no letter: $(cat formed.jsonl)"
for wrong in "paid" "paid --grammar other.gbnf" "paid --schema visit.json"; do
	# shellcheck disable=SC2086 # each is a name and some options
	refused 4 "${more[@]}" -N 2 -o x.jsonl -i ${wrong/paid/paid.jsonl}
	says err 'paid.receipt.json: it is of texts of a grammar: give the same file with --grammar$'
done
for wrong in "visits" "visits --schema string.json" "visits --grammar letter.gbnf"; do
	# shellcheck disable=SC2086
	refused 4 "${more[@]}" -N 2 -o x.jsonl -i ${wrong/visits/visits.jsonl}
done
refused 4 "${more[@]}" -N 2 -o x.jsonl -i any.jsonl --schema visit.json
says err 'no objects of a schema: leave out --schema$'
refused 4 "${more[@]}" -N 2 -o x.jsonl -i seeded.jsonl --schema visit.json
says err 'are stamped, and cannot be expanded$'
refused 2 "${more[@]}" -N 2 -o x.jsonl -i paid.jsonl --schema visit.json --grammar letter.gbnf
refused 2 "${more[@]}" -N 2 -o x.jsonl -i paid.jsonl --grammar letter.gbnf --stop auto
refused 2 "${more[@]}" -N 2 -o x.csv -i visits.jsonl --schema visit.json

# ---- texts that records vote for ---------------------------------------------------------------
evolve=(evolve -q -n 8 --seed 5 -e 1000000 -N 4 --variations 2 --generations 2)
exits 0 "${evolve[@]}" -i refs.jsonl --grammar letter.gbnf -o voted.jsonl
public_letters voted.jsonl || fail "an evolved text is no letter: $(cat voted.jsonl)"
[ "$(sed 's/.*"votes":\([0-9]*\).*/\1/' voted.jsonl | awk '{ sum += $1 } END { print (sum > 0) }')" = 1 ] || fail "no votes: $(cat voted.jsonl)"
exits 0 receipt verify voted.receipt.json --output voted.jsonl --grammar letter.gbnf
says out 'Each text is one of a public grammar\.$'
exits 0 "${evolve[@]}" -i refs.jsonl --schema visit.json -o evolved.jsonl
visits evolved.jsonl || fail "an evolved line is no visit: $(cat evolved.jsonl)"
exits 0 receipt verify evolved.receipt.json --output evolved.jsonl --schema visit.json
says out '^schema +this is its schema$'
refused 7 receipt verify evolved.receipt.json --schema letter.gbnf
exits 0 evolve -q -n 8 -e 1 --schema visit.json --dry-run -i refs.jsonl
says out '^schema        of each text; what it leaves no choice about is free$'
says out '^records       60$'
# What a record says counts in the schema's form alone. One that does not fit votes for none, and nothing tells.
vote() {
	sed -E "$1" refs.jsonl >world.jsonl
	exits 0 "${evolve[@]}" --variations 1 --generations 1 -N 8 -i world.jsonl --schema visit.json -o world.out.jsonl
	[ ! -s err ] || fail "a record is told of: $(cat err)"
	mv world.out.jsonl "$2"
	rm world.out.receipt.json
}
vote '' all
vote 's/,"who":[0-9]+//;s/"age":([0-9]+)\.0/"age": \1/;s/^\{("note":[^,]*),/{"extra":[1,{}],\1,/' same
same same all "what the schema does not have is heard"
vote 's/"age":[0-9.]+/"age":-1/' unfit
# Where no line is an object the run is refused, so one is.
# shellcheck disable=SC2016 # sed's last line
vote '1s/.*/{}/;2,$s/.*/no JSON/' null
same unfit null "a record that does not fit is more than a null"
cmp -s unfit all && fail "records have no vote"
(prlimit --fsize=700 --pid "$BASHPID" && "$CUTTLE" "${evolve[@]}" -i refs.jsonl --schema visit.json -o on3.jsonl 2>err) && fail "no room was needed"
refused 2 "${evolve[@]}" -i refs.jsonl --grammar letter.gbnf -o on3.jsonl
exits 0 "${evolve[@]}" -i refs.jsonl --schema visit.json -o on3.jsonl
visits on3.jsonl || fail "a line that went on is no visit: $(cat on3.jsonl)"
refused 2 "${evolve[@]}" -i refs.jsonl -o x.jsonl --schema visit.json --grammar letter.gbnf
refused 2 "${evolve[@]}" -i refs.jsonl -o x.jsonl --schema visit.json --text-field note
refused 2 "${evolve[@]}" -i refs.jsonl -o x.jsonl --grammar letter.gbnf --stop none
exits 0 "${evolve[@]}" -i refs.csv --schema visit.json -o rows.voted.jsonl
refused 4 "${evolve[@]}" -i refs.jsonl -o x.jsonl --schema if.json

# ---- documents that are rewritten -----------------------------------------------------------------
docs() {
	for i in 1 2 3; do echo "{\"id\":$i,\"text\":\"To $1: no $i.\",\"spans\":[{\"start\":3,\"end\":$((3 + ${#1})),\"entity_type\":\"PERSON\"}]}"; done
	echo '{"id":4,"text":"Nobody.","spans":[]}'
}
docs 'Ann Roe' >docs.jsonl
rewrite=(sanitize -i docs.jsonl -n 12 --template continue -q -e 4)
exits 0 "${rewrite[@]}" --grammar letter.gbnf -o clean.jsonl
sed 's/"ended":"end"/"finish":"eos"/; s/"ended":"closed"/"finish":"closed"/' clean.jsonl >clean.lines
public_letters clean.lines || fail "a rewritten text is no letter: $(cat clean.jsonl)"
[ "$(wc -l <clean.jsonl)" = 4 ] || fail "four documents"
nothing_left clean.jsonl
exits 0 receipt verify clean.receipt.json --output clean.jsonl --grammar letter.gbnf
says out '^grammar +this is its grammar$'
says out 'Each text is one of a public grammar\. What that leaves no choice about was written without looking at a mark'
refused 7 receipt verify clean.receipt.json --grammar visit.json
edits_noticed clean.receipt.json <<-'END'
	/"grammar_sha256"/d
	s/"free_tokens": [0-9]*/"free_tokens": 0/
	s/"free_tokens": /&1/
	s/"max_length": [0-9]*/"max_length": 13/
END
# What it costs is that of T tokens, whatever the form.
exits 0 "${rewrite[@]}" -o plain.jsonl
for member in epsilon epsilon_all; do
	same <(grep "\"$member\"" clean.receipt.json) <(grep "\"$member\"" plain.receipt.json) "a grammar changes $member"
done
for mix in average capped; do
	exits 0 "${rewrite[@]}" -e 20 --schema visit.json --mix $mix --complete -o "$mix.clean.jsonl"
	python3 -c 'import json, sys
for line in open(sys.argv[1]): print(json.loads(line)["text"])' "$mix.clean.jsonl" >objects.of
	visits objects.of || fail "a rewritten text is no visit: $(cat "$mix.clean.jsonl")"
	exits 0 receipt verify "$mix.clean.receipt.json" --output "$mix.clean.jsonl" --schema visit.json
done
exits 0 "${rewrite[@]}" --grammar letter.gbnf --dry-run
says out '^grammar       of each text; what it leaves no choice about is free$'
# A run that was stopped goes on as it would have.
exits 0 "${rewrite[@]}" --insecure-seed 3 --grammar letter.gbnf -o all.clean.jsonl
(prlimit --fsize=250 --pid "$BASHPID" && "$CUTTLE" "${rewrite[@]}" --insecure-seed 3 --grammar letter.gbnf -o on4.jsonl 2>err) && fail "no room was needed"
refused 2 "${rewrite[@]}" --insecure-seed 3 --grammar other.gbnf -o on4.jsonl
exits 0 "${rewrite[@]}" --insecure-seed 3 --grammar letter.gbnf -o on4.jsonl
same on4.jsonl all.clean.jsonl "a run that was stopped went on otherwise"
refused 2 "${rewrite[@]}" -o x.jsonl --grammar letter.gbnf --schema visit.json
refused 2 "${rewrite[@]}" -o x.jsonl --grammar letter.gbnf --stop none
refused 2 "${rewrite[@]}" -o x.jsonl --grammar letter.gbnf --max-length 90
refused 2 "${rewrite[@]}" -o x.jsonl --grammar letter.gbnf --free-tokens 5
says err "5 free tokens are too few"
refused 4 "${rewrite[@]}" -o x.jsonl --schema if.json

# ---- shards ------------------------------------------------------------------------------------
shared=(-i refs.jsonl -B 3 -n 12 --clip 9 -k 0 -q --lots off --insecure-seed 3 -N 4 --grammar letter.gbnf -o run)
exits 0 shard open "${shared[@]}" --shards 2
for shard in 0 1; do exits 0 generate "${shared[@]}" --shard $shard/2; done
exits 0 merge run -o merged.jsonl -q
same merged.jsonl letters.jsonl "shards write other letters"

# ---- what is refused ---------------------------------------------------------------------------
refused 2 "${seeded[@]}" -N 2 --grammar letter.gbnf --schema visit.json -o x.jsonl
refused 2 "${seeded[@]}" -N 2 --grammar letter.gbnf --stop auto -o x.jsonl
refused 2 "${seeded[@]}" -N 2 --grammar letter.gbnf --token-bank -o x.jsonl
refused 2 "${seeded[@]}" -N 2 --grammar letter.gbnf --trace x.trace -o x.jsonl
refused 2 "${seeded[@]}" -N 2 --grammar letter.gbnf --free-tokens 5 -o x.jsonl
says err "5 free tokens are too few: the grammar's shortest text may take"
refused 2 generate -i refs.jsonl -B 1 -e 3 --method dp-prompt -N 2 --grammar letter.gbnf -o x.jsonl -q
refused 2 "${seeded[@]}" -N 2 --schema visit.json --text-field note -o x.jsonl
refused 2 "${seeded[@]}" -N 2 --schema visit.json --rounds 2 --examples-per-text 2 -o x.jsonl
refused 2 "${seeded[@]}" -N 2 --schema visit.json --category-field age --categories 30 --category-public -o x.jsonl
says err 'the schema has no enum of that name$'
refused 2 "${seeded[@]}" -N 2 --schema visit.json --category-field ward --categories dentist --category-public -o x.jsonl
says err '"dentist" is not in the schema.s enum of ward$'
refused 4 "${seeded[@]}" -N 2 --grammar visit.json -o x.jsonl
says err 'visit.json: grammar, line 1, column 1'
refused 4 "${seeded[@]}" -N 2 --grammar none.gbnf -o x.jsonl
refused 4 "${seeded[@]}" -N 2 --schema string.json -o x.jsonl
says err 'string.json: a record must be an object'
refused 4 "${seeded[@]}" -N 2 --schema if.json -o x.jsonl
says err 'if.json: .*/if'
cp letter.gbnf same.gbnf
refused 2 "${seeded[@]}" -N 2 --grammar same.gbnf -o same.gbnf --overwrite
same letter.gbnf same.gbnf "a grammar was overwritten"
ls x.* >/dev/null 2>&1 && fail "left: $(ls x.*)"
echo "schema.sh: passed"
