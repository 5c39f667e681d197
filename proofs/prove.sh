#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Proves what the integer core does, of the C that is shipped: by Frama-C (WP) for loops of any length, and by a bounded model checker
# (ESBMC) for all values of a fixed width. What is proved is in contracts/ and in bounded/; dp/PRIVACY.md says which step needs it.
# usage: prove.sh               all of it, then the wrong variants below; without the tools it says SKIPPED
#        prove.sh JOB...        some of them
#        prove.sh wrong JOB...  the wrong variants that these jobs must refuse
# A contract is a patch that adds comments to a file and nothing else; that is checked.
# Environment: ESBMC, the checker's command, "esbmc" where it is not set. TIMEOUT, seconds for a goal of Frama-C, 30 where it is not set:
# a goal that is proved needs about one, and of a wrong one the provers use up all.
set -euo pipefail
cd "$(dirname "$(realpath "$0")")/.."
esbmc=${ESBMC:-esbmc}
bad=0
say() {
	echo "prove: $*" >&2
	bad=1
}

# job | tool | file | functions, or unwindings | options
jobs=(
	"dclip|wp|kernels/dclip_scalar.c|dclip_scalar|-wp-model Typed+real"
	"rowlaw|wp|kernels/rowlaw_scalar.c|tabulate_law,share_law|-wp-model Typed+real"
	"pick|wp|dp/draw.c|dp_pick,dp_pick_mixed,dp_share_evenly,dp_largest|"
	"center|wp|dp/center.c|dp_center,know_ends|"
	"topk|wp|dp/topk.c|dp_topk,know_product,sift_down|"
	"bounded-fix|esbmc|fix|3|"
	"bounded-wide|esbmc|wide|10|"
	"bounded-product|esbmc|product|3|"
	"bounded-pick|esbmc|pick|8|"
	"bounded-topk|esbmc|topk|6|"
)
# what is wrong | job that must see it | file | how it becomes wrong
wrong=(
	"bound off by one|dclip|kernels/dclip_scalar.c|s/difference > clip ? clip/difference > clip ? clip + 1/"
	"sign|dclip|kernels/dclip_scalar.c|s/- public_fixed\[i\]/+ public_fixed[i]/"
	"strict for weak|pick|dp/draw.c|s/pick += !dp_wide_less(u, prefix)/pick += dp_wide_less(prefix, u)/"
	"a mixture, strict for weak|pick|dp/draw.c|s/pick += prefix <= u/pick += prefix < u/"
	"a uniform law with a rest too large|pick|dp/draw.c|s/sum - part \* n/sum - part * (n - 1)/"
	"the last of the largest|rowlaw|kernels/rowlaw_scalar.c|s/below == 0 && first == n/below == 0/"
	"what is left is one less|rowlaw|kernels/rowlaw_scalar.c|s/ROWLAW_SUM_BITS) - sum;/ROWLAW_SUM_BITS) - sum - 1;/"
	"upper median|center|dp/center.c|s/within >= n - n \/ 2/within > n - n \/ 2/"
	"ties are out|topk|dp/topk.c|s/least) >= -2/least) > -2/"
	"tie rounding|bounded-fix|dp/fixed.c|s/fraction > 0.5/fraction >= 0.5/"
	"lost carry|bounded-wide|dp/wide.h|s/ + (low < b.low)//"
	"half a product|bounded-product|dp/wide.h|s/upper << 64, upper >> 64/upper << 64, 0/"
	"pick one late|bounded-pick|dp/draw.c|s/pick += !dp_wide_less(u, prefix)/pick += dp_wide_less(prefix, u)/"
	"heap of the smaller child|bounded-topk|dp/topk.c|s/heap\[child + 1\] < heap\[child\]/heap[child + 1] > heap[child]/"
)

tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
# Why3 has to be told once which provers there are; a file of our own leaves the user's alone.
export WHY3CONFIG=$tree/.why3.conf
if command -v why3 >/dev/null; then why3 config detect >/dev/null 2>&1 || true; fi

# A copy of the rooms that are looked at, with the contracts in it.
lay() {
	local patch file
	rm -rf "${tree:?}"/*
	cp -r base dp kernels "$tree"
	for patch in proofs/contracts/*.patch; do
		file=$(sed -n 's,^+++ b/,,p' "$patch")
		patch -s -F0 -p1 -d "$tree" <"$patch" || { say "$patch does not apply" && return 1; }
		cmp -s <(gcc -fpreprocessed -dD -E -P "$file") <(gcc -fpreprocessed -dD -E -P "$tree/$file") || say "$patch changes code"
	done
}

# run JOB: in the tree; its log goes to stdout.
run() {
	local line tool file what options
	line=$(printf '%s\n' "${jobs[@]}" | grep "^$1|") || { say "there is no job $1" && return 1; }
	IFS='|' read -r _ tool file what options <<<"$line"
	# shellcheck disable=SC2086 # options are words
	case $tool in
	wp) (cd "$tree" && frama-c -c11 -machdep gcc_x86_64 -kernel-warn-key CERT:EXP:46=inactive -warn-special-float none \
		-cpp-extra-args="-I. -include $OLDPWD/proofs/contracts/shim.h" -wp -wp-rte -wp-prover z3,cvc4 \
		-wp-timeout "${TIMEOUT:-30}" -wp-par "$(nproc)" $options -wp-fct "$what" "$file" 2>&1) ;;
	esbmc) (cd "$tree" && timeout 1800 "$esbmc" --64 --overflow-check --ub-shift-check -I . --unwind "$what" "$OLDPWD/proofs/bounded/$file.c" 2>&1) ;;
	esac
}

# verdict: reads a log; "proved", "refused" or neither.
verdict() {
	awk '/^VERIFICATION SUCCESSFUL/ { v = "proved" } /^VERIFICATION FAILED/ { v = "refused" }
		/Proved goals:/ { v = $4 > 0 && $4 == $6 ? "proved" : "refused" } END { print v ? v : "broken" }'
}

has() {
	case $1 in
	bounded-*) command -v "$esbmc" >/dev/null ;;
	*) command -v frama-c >/dev/null && command -v z3 >/dev/null ;;
	esac
}

prove() {
	local log result
	has "$1" || { echo "prove: SKIPPED $1: $(case $1 in bounded-*) echo "$esbmc" ;; *) echo frama-c or z3 ;; esac) is not installed" && return; }
	SECONDS=0
	log=$(run "$1") || true
	result=$(verdict <<<"$log")
	[ "$result" = "$2" ] || { tail -30 <<<"$log" && say "$1 is $result"; }
	printf '%-18s %-9s %4d s  %s\n' "$1" "$result" "$SECONDS" "$3"
}

# refuse JOB: each wrong variant of it.
refuse() {
	local line what job file change
	for line in "${wrong[@]}"; do
		IFS='|' read -r what job file change <<<"$line"
		[ "$job" = "$1" ] || continue
		lay
		sed -i "$change" "$tree/$file"
		! cmp -s "$file" "$tree/$file" || say "\"$what\" changes nothing"
		prove "$job" refused "$what"
	done
}

lay
case ${1:-all} in
all)
	for line in "${jobs[@]}"; do prove "${line%%|*}" proved ""; done
	for line in "${jobs[@]}"; do refuse "${line%%|*}"; done
	;;
wrong) for job in "${@:2}"; do refuse "$job"; done ;;
*) for job; do prove "$job" proved ""; done ;;
esac
exit $bad
