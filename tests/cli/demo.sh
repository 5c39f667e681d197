#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tests what the demonstrations say below their results, without a model: folders with invented tables stand there already. It fails if
# demo-evaluate.sh says of two columns what the table does not show, demo.sh hides whence its times are, or demo-style.sh counts wrong.
# shellcheck source=/dev/null
tools=$(dirname "$(realpath "$0")")/../../tools
. "$(dirname "$(realpath "$0")")/check.bash"

mkdir demo
echo '{"text":"My parcel came late.","category":"delivery"}' >demo/messages.jsonl
echo '{"epsilon":3,"delta":1e-6}' >demo/messages.receipt.json
printf '20\n100\n' >demo/seconds

# table OURS ERROR ALONE ERROR: the first classifier by these numbers; the other finds the same of both.
table() {
	local same='"probe":{"value":0.5,"error":0.05}' rest='"perplexity_median":{"value":9},"length":{"value":9,"error":1}'
	cat >demo/table.json <<-END
		{"references":250,"rows":[
		{"kind":"run","texts":42,"bayes":{"value":$1,"error":$2},$same,$rest},
		{"kind":"public prompt alone","texts":48,"bayes":{"value":$3,"error":$4},$same,$rest},
		{"kind":"real against real","texts":125,"bayes":{"value":0.9,"error":0.02},$same,$rest}]}
	END
	bash "$tools/demo-evaluate.sh" /bin/true none >shown 2>err || fail "demo-evaluate: $(cat err shown)"
	tr -s '\n ' ' ' <shown >out
}
table 0.364 0.05 0.596 0.058
says out 'By the first classifier the public prompt alone is ahead, by 0\.232 with an error of 0\.077\.'
says out 'By the other classifier no difference shows: 0, with an error of 0\.071\.'
says out 'This run took 120 seconds\. .*of 1 billion would take about 16 minutes .*8\.1 times.* 8 billion would take about 2\.0 hours, 60 times'
table 0.596 0.05 0.364 0.058
says out 'By the first classifier these texts are ahead, by 0\.232 with an error of 0\.077\.'
table 0.5 0.05 0.39 0.058
says out 'By the first classifier no difference shows: 0\.11, with an error of 0\.077\.'
grep -q ahead out && fail "a difference within its error is called one"
table 0.5 0.05 0.39 0.01
says out 'By the first classifier these texts are ahead, by 0\.11 with an error of 0\.051\.'

# demo-style.sh counts what it shows, and an error is never nothing.
mkdir demo/style
echo '{"text":"Dear team, the lamp came broken. Please advise."}' | tee demo/style/drawn.jsonl >demo/style/more.jsonl
printf '{"text":"The lamp is fine."}\n{"text":"Dear shop, thank you."}\n' >demo/style/public.jsonl
echo '{"epsilon":3,"delta":1e-6}' >demo/style/drawn.receipt.json
bash "$tools/demo-style.sh" /bin/true none >shown 2>err || fail "demo-style: $(cat err shown)"
[ ! -s err ] || fail "demo-style: $(cat err)"
tr -s '\n ' ' ' <shown >out
says out 'begin with "Dear" 2 of 2 1 of 2 '
says out 'have "Please" at their end 2 of 2 0 of 2 '
says out 'differ by 0\.25 with an error of 0\.33, and by 0\.50 with an error of 0\.31\.'
says out 'e\^3 = 21 times .* 1 in 1,000,000\.'
[ "$(wc -l <demo/style/private.jsonl)" = 8000 ] || fail "demo-style: other messages"
exit 0
