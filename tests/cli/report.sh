#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tests `cuttle report`. It fails if a receipt that does not hold, or a file that is none, is
# reported; if a private number is not in a stamped box, can be read by others, or is left by
# --publish; if a foreign string becomes markup in HTML or Markdown; if a page has a script or would
# fetch something; if the JSON lacks a number; or if a file of somebody's is written over.
# shellcheck source=/dev/null
. "$(dirname "$(realpath "$0")")/check.bash"
need_tiny finite
stamp='computed from the references without protection: do not publish'
turn=$(printf '\u202e')
# Names that would be markup, links or a shell's words, if somebody forgot to escape them.
hostile="<script>document.title='owned'</script>\"'&amp;|![x](http://e.invalid/y)\`$turn(//e.invalid/)"
words=(the patient coughs at night and has slept well since monday lungs clear no fever rest fluids again)
texts() {
	local i k line
	for ((i = $1; i <= $2; i++)); do
		line=
		for ((k = 0; k < 4 + i % 3; k++)); do line+="${words[(i * (k + 3) + k * k) % 17]} "; done
		echo "{\"text\":\"${line}$i.\",\"<i>ward\":\"$([ $((i % 2)) = 0 ] && echo sea || echo "<img src=x onerror=alert(1)>")\"}"
	done
}
texts 1 12 >refs.jsonl
texts 50 61 >real.jsonl
exits 0 ledger init --ledger spent.db --dataset "$hostile" --epsilon-limit 10
exits 0 ledger key --sign key
printf '%s\n' '<i>ward' sea '<img src=x onerror=alert(1)>' >wards.csv
exits 0 generate -i refs.jsonl -o run.jsonl -e 3 -B 2 -N 4 -n 8 --kind note -q --lots off --category-field '<i>ward' --categories wards.csv \
	--category-public --ledger spent.db --dataset "$hostile" --sign key
receipt=run.receipt.json
evil="\"><svg onload=alert(1)>.jsonl"
cp run.jsonl "$evil"
exits 0 evaluate -i "$evil" --against real.jsonl --public -q -o open.json
exits 0 evaluate -i "$evil" --against real.jsonl --private -q -o closed.json
game='{"games":200,"hits":81,"alarms":22,"epsilon_at_least":0.8125,"epsilon_at_least_sure":0.3125}'
control='{"games":200,"hits":199,"alarms":0,"epsilon_at_least":3.9375,"epsilon_at_least_sure":2.4375}'
# audit NAME PRIVATE STAMP CONTRADICTED: an audit's JSON.
audit() {
	echo "{\"audit\":\"$1\",\"private\":$2,\"stamp\":$3,\"contradicted\":$4,\"void\":false,\"claimed_epsilon\":2.9,\"delta\":1e-6,"
	echo "\"canary\":\"<b>owl\",\"game\":$game,\"control\":$control}"
}
audit '<b>canary' false null false >shown.json
audit overlap true '"PRIVATE: of private references"' false | sed 's/0.8125/0.640625/' >hidden.json
report=(report "$receipt" open.json shown.json --ledger spent.db --key key.pub --texts run.jsonl)
private=(closed.json hidden.json)

# ---- a bias: what it promises is told, too -------------------------------------------------------
learn=(learn -i refs.jsonl --texts 8 --tokens 8 -q)
exits 0 "${learn[@]}" -e 1 -o notes.bias
exits 0 "${learn[@]}" --public -o open.bias
for bias in notes open; do
	exits 0 generate -B 0 --bias $bias.bias -N 2 -n 4 -o free-$bias.jsonl -q
	exits 0 generate -i refs.jsonl --bias $bias.bias -e 2 -B 2 -N 2 -n 4 -o both-$bias.jsonl -q --lots off
	exits 0 expand -i run.jsonl --bias $bias.bias -N 2 -o more-$bias.jsonl -q
done
exits 0 expand -i both-notes.jsonl -N 2 -o more-both.jsonl -q
head_of() {
	exits 0 report "$1.receipt.json" --format html
	exits 0 report "$1.receipt.json" --format md
	sed -n 's/^\*\*\(epsilon.*\)\*\*$/\1/p' out
}
while IFS="|" read -r name head; do
	[[ $(head_of "$name") =~ ^$head$ ]] || fail "$name: $(head_of "$name")"
done <<'END'
notes.bias|epsilon 1, delta 1e-06
open.bias|epsilon none
free-notes|epsilon 1, delta 1e-06
free-open|epsilon none
both-open|epsilon [12][.0-9]*, delta 1e-06
both-notes|epsilon [12][.0-9]*, epsilon of it and its bias 2\.[1-9][0-9]*, delta 2e-06
more-notes|epsilon (4|3\.99[0-9]*), delta 2e-06
more-both|epsilon 2\.[1-9][0-9]*, delta 2e-06
more-open|epsilon (3|2\.99[0-9]*), delta 1e-06
END
head_of free-notes >/dev/null
says out '^| Protected | one record of the input |$'

# ---- all forms -----------------------------------------------------------------------------------
for form in html md json; do
	exits 0 "${report[@]}" -o public.$form
	[ ! -s err ] || fail "words about public files: $(cat err)"
	[ "$(stat -c %a public.$form)" = 644 ] || fail "mode $(stat -c %a public.$form)"
	exits 0 "${report[@]}" --format $form
	same out public.$form "on standard output, $form"
	grep -q "$stamp" public.$form && fail "a stamp without private numbers: $form"
done
exits 0 "${report[@]}" --json
same out public.json "--json"
exits 0 "${report[@]}" -o -
same out public.html "HTML is the default"
sentence=$(sed -n 's/.*(epsilon = \([0-9.]*\), delta.*/\1/p' $receipt)
for form in html md json; do
	says public.$form "epsilon = $sentence, delta = 1e-06"
	says public.$form 'one record of the input'
	says public.$form 'this run.s category|Secrecy of the category of any record'
	says public.$form 'the ledger counts those it was told of'
	says public.$form 'these are its bytes'
	says public.$form 'it has the entry'
	says public.$form 'the one given'
	says public.$form "$(hash_of run.jsonl)"
done
says public.html 'by 1 run; counted per line'
says public.html 'of 10 at delta 1e-06'
says public.html 'nothing against the guarantee, which no audit can prove; no receipt of this report promises that much'
says public.html '<td class="n">0.3125</td><td class="n">2.9</td><td class="n">3.9375</td>'
says public.html 'class="edge|line edge"'
says public.html 'aria|role="img"'
[ "$(grep -c '<svg' public.html)" = 7 ] || fail "charts: $(grep -c '<svg' public.html)"
says public.html '>MAUVE, c = 5<'
grep -Eiq 'excellent|very good|poor|grade|score:' public.html && fail "a grade"

# ---- foreign strings -----------------------------------------------------------------------------
# Every tag is one of ours, no attribute starts anything, and there is no address.
# harmless FILE: HTML.
harmless() {
	local tag
	tag=$(sed 's/<[^>]*>/\n&\n/g' "$1" | grep '^</\?[a-zA-Z!]' | sed -E 's,^</?([a-zA-Z0-9!]+).*,\1,' | sort -u |
		grep -vxE '!DOCTYPE|html|head|meta|title|style|body|section|header|div|p|h[1-3]|b|br|sup|blockquote|table|thead|tbody|tr|th|td|ul|li|pre|figure|figcaption|svg|g|line|polyline|polygon|rect|circle|text')
	[ -z "$tag" ] || fail "$1 has a tag of somebody else's: $tag"
	grep -aq "$turn" "$1" && fail "$1 has text turned around"
	sed 's/<[^>]*>/\n&\n/g' "$1" | grep '^<[a-z]' | grep -Ei ' (on[a-z]+|src|href|style|action|xmlns[^=]*)=' && fail "$1 has an attribute of somebody else's"
	grep -Ei '<[^>]*(https?:|//)|url\(|@import|javascript:' "$1" && fail "$1 would fetch something"
	says "$1" "http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; form-action 'none'\""
}
harmless public.html
says public.html '&lt;script&gt;document.title=&#39;owned&#39;&lt;/script&gt;'
says public.html '&lt;img src=x onerror=alert\(1\)&gt;'
says public.html '&quot;&gt;&lt;svg onload=alert\(1\)&gt;.jsonl'
says public.html '&lt;b&gt;canary'
says public.html '\[U\+202E\]'
grep -q '<' <(sed 's/^> //' public.md) && fail "Markdown has a tag: $(grep '<' public.md)"
grep -E '(^|[^\])[][`]|(^|[^\])://' public.md && fail "Markdown has a link, or code"
grep -aq "$turn" public.md && fail "Markdown has text turned around"
[ "$(grep -c '^# ' public.md)" = 1 ] || fail "headings: $(grep '^#' public.md)"

# ---- private numbers -----------------------------------------------------------------------------
umask 000
for form in html md json; do
	exits 0 "${report[@]}" "${private[@]}" -o mixed.$form
	says err "^PRIVATE: numbers of 2 of the files are $stamp$"
	[ "$(stat -c %a mixed.$form)" = 600 ] || fail "mode $(stat -c %a mixed.$form) of a private report"
done
umask 022
harmless mixed.html
# Of an evaluation one box, of an audit one on either page; each with its stamp, and one above.
[ "$(grep -c '<div class="private' mixed.html)" = 3 ] || fail "boxes: $(grep -c '<div class="private' mixed.html)"
[ "$(grep -c "<p class=\"stamp\">$stamp</p>" mixed.html)" = 3 ] || fail "stamps of boxes"
says mixed.html "<p class=\"stamp\">Hatched boxes \\(2 files\\): $stamp</p>"
[ "$(grep -c "^\*\*PRIVATE: $stamp\*\*$" mixed.md)" = 4 ] || fail "stamps of Markdown: $(grep -c 'PRIVATE' mixed.md)"
says mixed.json '^ "private": true,$'
[ "$(grep -c "\"stamp\": \"$stamp\"" mixed.json)" = 3 ] || fail "stamps of JSON"
# Private numbers stand in boxes alone: without these it is the public page, but for the line above.
outside() { awk '/^<div class="private/ { inside = 1 } !inside { print } /^<\/div><\/div>$/ { inside = 0 }' "$1" | grep -v -e 'class="stamp"' -e 'class="sub"'; }
same <(outside mixed.html | sed -n '1,/Parameters and hashes/p') <(outside public.html | sed -n '1,/Parameters and hashes/p') "a private number outside a box"

# ---- what may be published -----------------------------------------------------------------------
for form in html md json; do
	exits 0 "${report[@]}" "${private[@]}" --publish -o published.$form
	[ ! -s err ] || fail "words about what is left out: $(cat err)"
	says published.$form '2 files were left out|"left_out": 2'
	exits 0 "${report[@]}" --publish --format $form
	same <(grep -v 'left.out' published.$form | cat -s) <(grep -v 'left.out' out) "something of a private file is published, $form"
	grep -q -e 0.640625 -e closed.json -e hidden.json -e "$stamp" published.$form && fail "a private number is published, $form"
	exits 0 "${report[@]}" "${private[@]}" --publish --format $form
	same out published.$form "--publish, $form"
done

# ---- every number is in the JSON -----------------------------------------------------------------
numbers() { grep -ohE -e '-?[0-9]+\.[0-9]+(e[-+]?[0-9]+)?' "$@" | sort -u; }
lacking=$(comm -23 <(numbers $receipt open.json closed.json) <(numbers mixed.json))
[ -z "$lacking" ] || fail "the JSON lacks $lacking"
for number in 0.8125 0.3125 3.9375 2.4375 0.640625 '"hits": 81' '"epsilon_spent"' '"epsilon_remaining"'; do says mixed.json "$number"; done

# Its files are named as on the page, without the folders that they are in.
exits 0 evaluate -i "$PWD/run.jsonl" -i "$PWD/refs.jsonl" --against "$PWD/real.jsonl" --public --next-token -q -o whole.json
says whole.json "$PWD"
for form in html md; do
	exits 0 report $receipt whole.json --format $form
	says out 'Next tokens guessed by a 4-gram with a cache that the texts taught: no BERT'
	says out 'bits over real'
done
exits 0 report $receipt whole.json --json
grep -F "$PWD" out && fail "the JSON says where files are"

# ---- several receipts ----------------------------------------------------------------------------
exits 0 generate -i real.jsonl -o other.jsonl -e 1 -B 2 -N 4 -n 8 --kind note -q --lots off
exits 0 expand -i run.jsonl -o more.jsonl -N 4 -n 8 --seed 1 -q
exits 0 report $receipt other.receipt.json more.receipt.json -o three.html
harmless three.html
says three.html '^<h3>2. other.receipt.json</h3>$'
says three.html 'this is its receipt, which holds'
says three.html 'nobody counted them\. \(receipt 2\)</li>$'
says three.html 'they count as public\. \(receipts 1, 2\)</li>$'
says three.html 'No ledger was given'
# With lots the promise is weaker against who knows a record's batch: the page says both.
exits 0 generate -i real.jsonl -o lots.jsonl -e 1 -B 2 -N 2 -n 8 --kind note -q
exits 0 report lots.receipt.json -o lots.html
says lots.html '</b>epsilon if the record&#39;s batch is known</div>$'
says lots.html '>and where it knows the record.s batch</th>'
# An evaluation whose references answered through noise costs them something, which both pages say.
sed 's/"asked": null/"asked": {"epsilon": 0.5, "delta": 1e-6}/' open.json >asked.json
exits 0 report $receipt asked.json
[ "$(grep -c 'only noisy answers are in this table: epsilon 0.5, delta 1e-06 of each record, on top' out)" = 2 ] || fail "nothing of noisy answers"
exits 0 report $receipt asked.json --format md
says out 'only noisy answers are here: epsilon 0.5, delta 1e-06'
# An audit belongs to the receipt that it names, else to one of its model.
epsilon=$(sed -n 's/^ *"epsilon": \([0-9.e-]*\),$/\1/p' $receipt)
model=$(sed -n 's/^ *"model_sha256": "\([0-9a-f]*\)",$/\1/p' $receipt)
# attached PLACE NAMED: where the audit with these members stands.
attached() {
	audit canary false null false | sed "s/\"claimed_epsilon\":2.9/\"claimed_epsilon\":$epsilon$2/" >named.json
	exits 0 report $receipt named.json --json
	says out "\"receipt\": $1,$"
}
attached 0 ''
attached 0 ",\"model_sha256\":\"$model\",\"receipt_sha256\":null"
attached null ',"model_sha256":"0123"'
attached 0 ",\"receipt_sha256\":\"$(hash_of $receipt)\""
attached null ",\"model_sha256\":\"$model\",\"receipt_sha256\":\"$(hash_of run.jsonl)\""
# The other systems say what their epsilons are of.
printf '%s\n' 'owl 1 0' 'cat 0 1' 'dog 1 1' 'elk 1 2' >vectors.txt
exits 0 words --vectors vectors.txt -o w.cw
exits 0 perturb --words w.cw -i refs.jsonl -k 2 -N 5 --pad -e 0.5 -q -o words.jsonl
echo '{"text":"To Ann: see us on 5 May.","spans":[{"start":3,"end":6,"entity_type":"PERSON"},{"start":18,"end":23,"entity_type":"DATE"}]}' >docs.jsonl
exits 0 sanitize -i docs.jsonl -n 6 --template continue -q -o clean.jsonl -e 4 --mix average --group PERSON --group DATE
exits 0 report clean.receipt.json words.receipt.json -o systems.html
harmless systems.html
for words in 'epsilon of one group of marks' 'epsilon of all groups of marks' 'epsilon of a word' 'epsilon of a text'; do
	says systems.html "</b>$words</div>"
done
says systems.html '<b>0.5</b>epsilon of a word'
says systems.html '<b>2.5</b>epsilon of a text'
says systems.html 'what the tagger missed'
refused 7 report $receipt other.receipt.json --key key.pub -o x.html
says err 'other.receipt.json: it has no signature$'

# ---- what does not hold, and what is foreign -----------------------------------------------------
# unreported WANTED WORDS ARG...: refused, and nothing is written.
unreported() {
	refused "$1" report "${@:3}" -o x.html
	says err "$2"
	[ ! -e x.html ] || fail "a report of ${*:3}"
}
sed 's/"delta": [0-9.e-]*/"delta": 1e-7/' $receipt >edited.json
unreported 7 'edited.json: ' edited.json
sed 's/"texts": 4/"texts": 3/' $receipt >edited.json
unreported 7 'edited.json: ' edited.json open.json
sed '/"signature"/d' $receipt >edited.json
unreported 4 'edited.json: ' edited.json
echo >>run.jsonl
unreported 7 'run.jsonl is the output of no receipt here: other bytes$' $receipt --texts run.jsonl
exits 0 ledger init --ledger empty.db --dataset "$hostile" --epsilon-limit 10
unreported 7 'empty.db has no entry' $receipt --ledger empty.db
sed 's/"private": true/"private": false/' closed.json >edited.json
unreported 7 'edited.json: its "private" and its "stamp" contradict each other: it was edited$' $receipt edited.json
sed 's/"stamp": ".*"/"stamp": null/' closed.json >edited.json
unreported 7 'contradict each other' $receipt edited.json --publish
sed 's/"private":true/"private":false/' hidden.json >edited.json
unreported 7 'contradict each other' $receipt edited.json
sed '0,/"value": [0-9.]*/s//"value": 1.5/' open.json >edited.json
unreported 4 'edited.json: its "rows" is missing, or not what cuttle evaluate writes$' $receipt edited.json
sed 's/"evaluation": 1/"evaluation": 2/' open.json >edited.json
unreported 4 'written by another cuttle' $receipt edited.json
sed '0,/"edges": \[/s//"edges": [1e9,/' open.json >edited.json
unreported 4 '"histograms"' $receipt edited.json
sed 's/"hits":81/"hits":"81"/' shown.json >edited.json
unreported 4 'its "game" is missing, or not what cuttle audit writes$' $receipt edited.json
printf '{\n"audit": 1,\nprivate text\n' >edited.json
unreported 4 'edited.json: line 3 is no JSON' $receipt edited.json
grep -q 'private text' err && fail "the message shows the file"
unreported 4 'refs.jsonl: line 2 is no JSON' $receipt refs.jsonl
echo '{"text":"a"}' >edited.json
unreported 4 'edited.json is no receipt, no evaluation' $receipt edited.json
unreported 2 'open.json is given twice$' $receipt open.json open.json
unreported 2 'closed.json is given twice$' $receipt closed.json closed.json --publish
unreported 2 'hidden.json is given twice$' $receipt hidden.json hidden.json --publish
unreported 2 'none of the files is a receipt' open.json
unreported 2 '--dataset is a name in --ledger FILE$' $receipt --dataset d
unreported 2 'no data set' $receipt --ledger spent.db --dataset nobody
unreported 4 'nowhere' $receipt nowhere
exits 0 generate -i real.jsonl -o seeded.jsonl -e 1 -B 2 -N 4 -n 8 --kind note -q --lots off --insecure-seed 1
unreported 4 'NOT PRIVATE' seeded.receipt.json
refused 2 report
refused 2 report - <$receipt
says err 'give files, and no standard input'
# An audit that contradicts is reported, and the exit code says so; it is not published.
audit canary false null true >broken.json
exits 7 report $receipt broken.json -o broken.html
says err 'the report is written, and an audit in it contradicts the guarantee$'
says broken.html '<p class="bad">An audit contradicts the guarantee'
audit canary false null false | sed 's/0.3125/3.5/' >broken.json
exits 7 report $receipt broken.json -o broken.md
says broken.md 'An audit contradicts the guarantee'
unreported 7 'broken.json contradicts the guarantee: nothing of it may be published$' $receipt broken.json --publish
audit canary false null false | sed 's/"void":false/"void":true/' >void.json
exits 0 report $receipt void.json
says out 'void: it did not catch what has no protection, so it shows nothing'

# ---- nobody's file is written over ---------------------------------------------------------------
echo mine >mine.html
refused 2 report $receipt -o mine.html
says err 'mine.html is there already; --overwrite replaces it$'
[ "$(cat mine.html)" = mine ] || fail "a file of the user is gone"
exits 0 report $receipt -o mine.html --overwrite
harmless mine.html
refused 2 report $receipt open.json -o open.json --overwrite
refused 2 report $receipt --ledger spent.db -o spent.db-wal

# ---- a browser -----------------------------------------------------------------------------------
short && exit 0
if ! command -v chromium >/dev/null; then
	echo "SKIPPED: ${0##*/}: there is no chromium, so no browser has shown the page"
	exit 0
fi
browse() { timeout 120 chromium --headless=new --no-sandbox --disable-gpu --disable-dev-shm-usage --user-data-dir="$PWD/browser" "$@" 2>/dev/null; }
browse --dump-dom "file://$PWD/mixed.html" >dom
says dom '<title>Privacy report</title>'
browse --no-pdf-header-footer --print-to-pdf=page.pdf "file://$PWD/mixed.html"
[ "$(head -c 5 page.pdf)" = %PDF- ] || fail "the page does not print"
