#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tests manual pages and completions. It fails if a page has a fault that mandoc sees, lacks an option, an exit code or an example of the
# help, or if a shell does not complete verbs, options, the names of a value and files.
# shellcheck source=/dev/null
. "$(dirname "$(realpath "$0")")/check.bash"

exits 0 help --verbs
cp out verbs
[ "$(wc -l <verbs)" -ge 20 ] || fail "too few verbs: $(paste -sd' ' verbs)"
exits 0 help --mdoc
cp out page.1
while read -r verb; do
	says page.1 "^\\.It Cm $verb\$"
	exits 0 help --mdoc "$verb"
	cp out "$verb.1"
	exits 0 help "$verb" --all
	sed -nE 's/^  (    |-., )-(-[a-z0-9-]+).*/\2/p' out | grep -vx -- -help | sed 's/-/\\-/g' >options
	while read -r option; do
		grep -qF -- "$option" "$verb.1" || fail "the page of $verb lacks ${option//\\/}"
	done <options
	grep -q '^cuttle ' "$verb.1" || fail "the page of $verb has no example"
	grep -q "^cuttle $verb " page.1 || fail "the page of cuttle has no example of $verb"
	says "$verb.1" '^\.Sh ENVIRONMENT$'
	[ "$(grep -cE '^\.It [0-9]$' "$verb.1")" = 10 ] || fail "the page of $verb lacks exit codes"
done <verbs
says shard.1 'those of cuttle generate'
! grep -F 'Fl \-\-bench' shard.1 || fail "the page of shard has options that it refuses"
if command -v mandoc >/dev/null; then
	for page in *.1; do
		said=$(mandoc -Tlint -W warning "$page") || true
		[ -z "$said" ] || fail "$page: $said"
	done
	mandoc -Thtml generate.1 >shown
	says shown 'cuttle-generate'
else
	echo "SKIPPED: mandoc is not installed, so the pages' markup is not checked"
fi
refused 2 help --mdoc no-such-verb
refused 2 help --completion tcsh
refused 2 help --completion
refused 2 help --no-such-option

# The same tables as JSON, from which the Python module is made.
exits 0 help --json
cp out catalog.json
python3 - verbs <<'END' || fail "cuttle help --json"
import json, sys
catalog = json.load(open("catalog.json"))
verbs = {verb["name"]: verb for verb in catalog["verbs"]}
assert list(verbs) == open(sys.argv[1]).read().split(), "other verbs than help --verbs"
assert [code["code"] for code in catalog["exit_codes"]] == list(range(10))
for name, verb in verbs.items():
    for option in verb["options"]:
        assert option["kind"] in ("flag", "text", "list", "real", "count", "choice"), (name, option)
        assert (option["argument"] is None) == (option["kind"] == "flag"), (name, option)
        if option["kind"] == "choice":
            assert "|".join(option["choices"]) == option["argument"]
    help = open(f"{name}.1").read()
    if name != "shard":  # whose page has its own options alone
        assert help.count("\n.It Fl") == len(verb["options"]), f"{name} has other options than its page"
generate = {option["name"]: option for option in verbs["generate"]["options"]}
assert generate["epsilon"]["kind"] == "real" and generate["epsilon"]["letter"] == "e" and generate["epsilon"]["range"]
assert generate["batch-size"]["kind"] == "count" and generate["stop"]["most"] == 16 and generate["input"]["heading"] is None
assert generate["model"]["heading"] == "Input" and generate["model"]["first"]
assert verbs["ledger"]["actions"][0] == "init" and verbs["generate"]["actions"] == []
# Each word that a verb takes is one that it names when another stands there.
print(*[f"{name} {action}" for name, verb in verbs.items() for action in verb["actions"]], sep="\n", file=open("actions", "w"))
END
[ "$(wc -l <actions)" -ge 25 ] || fail "too few actions: $(paste -sd' ' actions)"
while read -r verb action; do
	"$CUTTLE" "$verb" "$action" >out 2>err </dev/null && continue
	! grep -qE "there is no $action here|say what to do" err || fail "cuttle $verb does not know $action: $(cat err)"
done <actions

exits 0 help --completion bash
cp out completion.bash
# completes WORD...: what bash would offer behind these words, one a line.
completes() {
	bash -c '. ./completion.bash; COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)); _cuttle; printf "%s\n" "${COMPREPLY[@]}"' _ cuttle "$@"
}
offers() {
	local wanted=$1 got
	shift
	got=$(completes "$@" | sort | paste -sd' ')
	[ "$got" = "$wanted" ] || fail "bash offers \"$got\" behind cuttle $*, not \"$wanted\""
}
: >notes-of-mine.jsonl
offers 'generate' gen
offers 'sanitize score serve shard' s
offers 'receipt report' help re
offers '--category-field --category-public' generate --category-
offers 'exact zcdp' generate --accountant ''
offers 'notes-of-mine.jsonl' generate -i notes-of
while read -r verb; do
	[ "$(completes "$verb" -- | wc -l)" -ge 2 ] || fail "bash offers no options of $verb"
done <verbs
for shell in fish zsh; do
	exits 0 help --completion $shell
	cp out completion.$shell
	command -v $shell >/dev/null || { echo "SKIPPED: $shell is not installed, so its completion is not tried"; continue; }
	$shell -n completion.$shell || fail "$shell cannot read its completion"
done
if command -v fish >/dev/null; then
	ln -s "$CUTTLE" cuttle
	said=$(PATH=$PWD:$PATH fish -c 'source completion.fish; complete -C "cuttle gener"; complete -C "cuttle generate --accountant "' | cut -f1 | paste -sd' ')
	[[ $said == "generate exact zcdp" || $said == "generate zcdp exact" ]] || fail "fish offers $said"
fi
