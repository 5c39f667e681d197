#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Compiles the proofs in this folder, lists the axioms that they use, and sees that every wrong variant in wrong/ is refused.
# usage: check.sh         all of it; needs coq
#        check.sh names   what needs no coq: names that dp/PRIVACY.md gives are there, nothing is admitted, files begin as they should
#        check.sh refuse PATCH   one of wrong/, after all of it
#        check.sh again   what is compiled is checked once more, by coq's own small checker; minutes
# A file of wrong/ is a patch to one file. It begins with two lines of words: what is wrong, and "refused by: " with the lemma that must fail.
# Environment: BUILD, as in the Makefile.
set -euo pipefail
cd "$(dirname "$(realpath "$0")")/.."
unset MAKEFLAGS MAKELEVEL MFLAGS
there=$(realpath -m "${BUILD:-build}/proofs")
bad=0
say() {
	echo "proofs: $*" >&2
	bad=1
}

# home_of NAME: the file that states it.
home_of() { grep -lE "^(Lemma|Theorem|Corollary) $1\>" proofs/*.v || true; }
# The rows of the table, and the lemmas that they name.
rows() { sed -n '/^## What is machine-checked/,/^## /p' dp/PRIVACY.md | grep -E '^\| [0-9T]'; }
# shellcheck disable=SC2016 # these are a document's quotes
mapfile -t named < <(rows | grep -oE '`(step_[0-9]+|theorem|exchange)_[a-z0-9_]+`' | tr -d '`' | sort -u)

names() {
	local name step file
	[ ${#named[@]} -gt 0 ] || say "the table in dp/PRIVACY.md names no lemma"
	for name in "${named[@]}"; do
		[ "$(home_of "$name" | wc -w)" = 1 ] || say "dp/PRIVACY.md names $name, which not one file of proofs/ states"
	done
	# Each step has a row, and a lemma of its number where the row says that it is machine-checked.
	while read -r step; do
		case $(rows | grep -E "^\| $step \| (yes|in part|no) \|" | cut -d'|' -f3 | sort -u | tr -d ' \n') in
		no) ;;
		yes | inpart) [[ " ${named[*]} " == *" step_${step}_"* ]] || say "no lemma of the table is of step $step" ;;
		*) say "step $step of dp/PRIVACY.md has no row in its table of what is machine-checked, or two that differ" ;;
		esac
	done < <(grep -oE '^\*\*[0-9]+\.' dp/PRIVACY.md | tr -dc '0-9\n')
	for file in proofs/*.v; do
		[ "$(head -1 "$file")" = "(* SPDX-License-Identifier: Apache-2.0 *)" ] || say "$file: first line is not the SPDX line"
		[[ $(sed -n 2p "$file") == "(* "*. && $(sed -n 3p "$file") == "   "*". *)" ]] || say "$file: lines 2 and 3 are not two sentences"
	done
	if grep -nwE 'Admitted|Axioms?|[Aa]dmit|Parameters?|Conjecture|give_up|Abort|Unset|bypass_check' proofs/*.v; then say "something is assumed"; fi
	return $bad
}

# build FOLDER: compiles what has changed there.
build() {
	(cd "$1" && coqdep -Q . Cuttle ./*.v >depend)
	make -s -C "$1" -j"$(nproc)" -f - <<'END'
all: $(patsubst %.v,%.vo,$(wildcard *.v))
%.vo: %.v
	@echo COQC $<
	@coqc -q -Q . Cuttle $<
-include depend
END
}

# axioms: what the lemmas of the table rest on, beside what coq's reals rest on.
axioms() {
	local allowed='ClassicalDedekindReals.sig_(forall|not)_dec|FunctionalExtensionality.functional_extensionality_dep|Classical_Prop.classic'
	local name used other
	mkdir -p "$there/asked"
	{
		for name in "${named[@]}"; do
			echo "Require $(basename -s .v "$(home_of "$name")")."
		done | sort -u | sed 's/Require /From Cuttle Require /'
		printf 'Definition table := ('
		for name in "${named[@]}"; do printf '@%s.%s, ' "$(basename -s .v "$(home_of "$name")")" "$name"; done
		printf 'tt).\nPrint Assumptions table.\n'
	} >"$there/asked/axioms.v"
	used=$(cd "$there" && coqtop -q -batch -Q . Cuttle -l asked/axioms.v 2>&1) || { echo "$used" && return 1; }
	grep -q '^Axioms:' <<<"$used" || { say "coq lists no axioms: $used" && return 1; }
	other=$(grep -vE "^(Axioms:| .*|($allowed)( :.*)?)$" <<<"$used") || true
	[ -z "$other" ] || { say "the table's lemmas rest on other axioms, too: $other" && return 1; }
	echo "proofs: ${#named[@]} lemmas of the table rest on these axioms of coq's reals, and on nothing else:"
	sed -nE 's/^([A-Za-z_]+\.[A-Za-z_.]+).*/    \1/p' <<<"$used"
}

# failed_lemma FOLDER LOG: the last name that is stated above the line where coq stopped.
failed_lemma() {
	local file line
	read -r file line < <(sed -nE 's,^File "\./([a-z0-9_]+\.v)"\, line ([0-9]+)\,.*,\1 \2,p' "$2" | head -1) || return 0
	head -"$line" "$1/$file" | grep -oE '^(Lemma|Theorem|Corollary|Example|Definition|Record|Fixpoint) \w+' | tail -1 | cut -d' ' -f2
}

# refuse PATCH: the file that it changes, beside what is compiled; the lemma that must fail is in it.
refuse() {
	local scratch file lemma found
	scratch=$(mktemp -d)
	# shellcheck disable=SC2064 # now, while the name is known
	trap "rm -rf '$scratch'" EXIT
	file=$(sed -n 's,^+++ b/proofs/,,p' "$1")
	lemma=$(sed -n 's/^refused by: //p' "$1")
	cp "$there/$file" "$scratch"
	if ! patch -s -f -p2 -F0 -d "$scratch" <"$1" >"$scratch/log" 2>&1; then
		say "$(basename "$1") does not apply: $(head -1 "$scratch/log")"
	elif (cd "$scratch" && coqc -q -Q "$there" Cuttle "./$file") >"$scratch/log" 2>&1; then
		say "$(basename "$1") IS PROVED, and it is wrong"
	else
		found=$(failed_lemma "$scratch" "$scratch/log")
		if [ "$found" != "$lemma" ] || grep -qiE 'syntax error|was not found' "$scratch/log"; then
			cat "$scratch/log"
			say "$(basename "$1") fails in ${found:-nothing}, not in $lemma"
		else
			printf '%-28s refused by %s\n' "$(basename -s .patch "$1")" "$lemma"
		fi
	fi
	return $bad
}

case ${1:-all} in
names) names ;;
refuse) refuse "$2" ;;
again)
	mapfile -t modules < <(basename -s .v proofs/*.v | sed 's/^/Cuttle./')
	cd "$there" && coqchk -silent -o -Q . Cuttle "${modules[@]}"
	;;
all)
	names
	mkdir -p "$there"
	# A proof that was taken away is taken away here, too.
	for file in "$there"/*.v; do [ -e "proofs/${file##*/}" ] || rm -f "${file%.v}".*; done
	cp -pu proofs/*.v "$there"
	build "$there"
	axioms
	printf '%s\n' proofs/wrong/*.patch | xargs -P "$(nproc)" -n 1 proofs/check.sh refuse
	;;
*) echo "usage: $0 [names|again|refuse PATCH]" >&2 && exit 2 ;;
esac
