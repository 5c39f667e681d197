#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Compiles the proofs in this folder, lists the axioms that they use, and sees that every wrong variant in wrong/ is refused.
# usage: check.sh         all of it; needs coq
#        check.sh names   what needs no coq: names that dp/PRIVACY.md gives are there, nothing is admitted, files begin as they should
#        check.sh refuse PATCH...   some of wrong/, after all of it
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

# The module that states each lemma; of one that two files state, both.
declare -A home
while read -r file name; do home[$name]+="${home[$name]:+ }$file"; done < <(
	sed -nE "s/^(Lemma|Theorem|Corollary) ([A-Za-z0-9_']+).*/\2/; t show; d; :show F; p" proofs/*.v | paste -d' ' - - | sed 's,^proofs/\(.*\)\.v ,\1 ,'
)
# The rows of the table, and the lemmas that they name.
rows() { sed -n '/^## What is machine-checked/,/^## /p' dp/PRIVACY.md | grep -E '^\| [0-9T]'; }
# shellcheck disable=SC2016 # these are a document's quotes
mapfile -t named < <(rows | grep -oE '`(step_[0-9]+|theorem|exchange)_[a-z0-9_]+`' | tr -d '`' | sort -u)

names() {
	local name step file lemma
	[ ${#named[@]} -gt 0 ] || say "the table in dp/PRIVACY.md names no lemma"
	for name in "${named[@]}"; do
		[[ ${home[$name]-} =~ ^[^\ ]+$ ]] || say "dp/PRIVACY.md names $name, which not one file of proofs/ states"
	done
	# Each step has a row, and a lemma of its number where the row says that it is machine-checked; so has each theorem outside the steps.
	while read -r step; do
		case $(rows | grep -E "^\| $step \| (yes|in part|no) \|" | cut -d'|' -f3 | sort -u | tr -d ' \n') in
		no) ;;
		yes | inpart)
			lemma=step_${step}_
			case $step in Theorem*) lemma=theorem_ ;; esac
			[[ " ${named[*]} " == *" $lemma"* ]] || say "no lemma of the table is of row $step"
			;;
		*) say "dp/PRIVACY.md has no row $step in its table of what is machine-checked, or two that differ" ;;
		esac
	done < <(sed -nE 's/^\*\*([0-9]+|Theorem( [A-Z])?)[.,].*/\1/p' dp/PRIVACY.md)
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
			echo "Require ${home[$name]}."
		done | sort -u | sed 's/Require /From Cuttle Require /'
		printf 'Definition table := ('
		for name in "${named[@]}"; do printf '@%s.%s, ' "${home[$name]}" "$name"; done
		printf 'tt).\nPrint Assumptions table.\n'
	} >"$there/asked/axioms.v"
	used=$(cd "$there" && coqtop -q -batch -Q . Cuttle -l asked/axioms.v 2>&1) || { echo "$used" && return 1; }
	grep -q '^Axioms:' <<<"$used" || { say "coq lists no axioms: $used" && return 1; }
	other=$(grep -vE "^(Axioms:| .*|($allowed)( :.*)?)$" <<<"$used") || true
	[ -z "$other" ] || { say "the table's lemmas rest on other axioms, too: $other" && return 1; }
	echo "proofs: ${#named[@]} lemmas of the table rest on these axioms of coq's reals, and on nothing else:"
	sed -nE 's/^([A-Za-z_]+\.[A-Za-z_.]+).*/    \1/p' <<<"$used"
}

# lay PATCH FOLDER: writes what coq is to read of a wrong variant: before.v, which must pass, and lemma.v, which must fail.
lay() {
	local file lemma first last
	file=$(sed -n 's,^+++ b/proofs/,,p' "$1")
	lemma=$(sed -n 's/^refused by: //p' "$1")
	mkdir "$2"
	cp "$there/$file" "$2"
	patch -s -f -p2 -F0 -d "$2" <"$1" >"$2/log" 2>&1 || { say "$(basename "$1") does not apply: $(head -1 "$2/log")" && return 1; }
	first=$(grep -nE "^(Lemma|Theorem|Corollary) $lemma\>" "$2/$file" | cut -d: -f1)
	last=$(awk -v first="${first:-0}" 'first && NR >= first && /Qed\./ { print NR; exit }' "$2/$file")
	[ -n "$last" ] || { say "$(basename "$1"): $file has no lemma $lemma that ends" && return 1; }
	head -$((first - 1)) "$2/$file" >"$2/before.v"
	sed -n "$first,${last}p" "$2/$file" >"$2/lemma.v"
	printf 'Load "%s/before".\nFail Load "%s/lemma".\n' "$2" "$2" >"$2/wrong.v"
}

# refuse PATCH...: one session of coq for all of them, since to load its real numbers takes longer than most of the proofs.
# Succeed takes back what it did, so that the next one begins anew.
refuse() {
	local scratch patch name said
	scratch=$(mktemp -d)
	# shellcheck disable=SC2064 # now, while the name is known
	trap "rm -rf '$scratch'" EXIT
	{
		echo 'From Coq Require Reals Lra Lia Psatz ZArith List.'
		for patch; do
			name=$(basename -s .patch "$patch")
			lay "$patch" "$scratch/$name" || continue
			printf 'Goal True. idtac "begin %s". Abort.\nSucceed Load "%s/wrong".\nGoal True. idtac "end". Abort.\n' "$name" "$scratch/$name"
		done
	} >"$scratch/session"
	# It leaves a memory of what its tactics found where it runs.
	(cd "$scratch" && coqtop -q -Q "$there" Cuttle <session >log 2>&1) || true
	for patch; do
		name=$(basename -s .patch "$patch")
		[ -e "$scratch/$name/wrong.v" ] || continue
		said=$(awk -v begin="begin $name" '$0 == begin { on = 1 } on && $0 == "end" { exit } on' "$scratch/log")
		if grep -q 'The command has not failed' <<<"$said"; then
			say "$name IS PROVED, and it is wrong"
		elif ! grep -q 'The command has indeed failed' <<<"$said" || grep -qE '^Error|Anomaly|[Ss]yntax error|was not found' <<<"$said"; then
			echo "$said"
			say "$name fails before its lemma, or not by what the lemma says"
		else
			printf '%-28s refused by %s\n' "$name" "$(sed -n 's/^refused by: //p' "$patch")"
		fi
	done
	return $bad
}

case ${1:-all} in
names) names ;;
refuse) refuse "${@:2}" ;;
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
	axioms &
	patches=(proofs/wrong/*.patch)
	printf '%s\n' "${patches[@]}" | xargs -P "$(nproc)" -n $((${#patches[@]} / $(nproc) + 1)) proofs/check.sh refuse
	wait $!
	;;
*) echo "usage: $0 [names|again|refuse PATCH]" >&2 && exit 2 ;;
esac
