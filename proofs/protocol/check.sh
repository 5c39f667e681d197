#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Walks protocol.pml with Spin: every state that can be reached, no hashes in their place. Prints states, depth and what held. Then walks
# every wrong variant in wrong/, in each of which what it names must be found broken.
# usage: check.sh          what ends within a minute; needs spin and gcc
#        check.sh all      larger walks and the wrong variants, too: some minutes, and 4 GB at most
#        check.sh walks    what tests/workflow/test_protocol.c replays is what Spin says; check.sh walks record  writes it anew
#        check.sh trail [-D...]  the shortest way to the first fault of one walk, in words
# A file of wrong/ is a patch to protocol.pml. It begins with two lines of words: what is wrong, and "found by: " with the property, as
# protocol.pml names it, and the walk's numbers.
set -euo pipefail
cd "$(dirname "$(realpath "$0")")"
scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
bad=0

# search MODEL -D...: all that can be reached. Leaves what Spin said in $scratch/said.
search() {
	local depth=(-m100000)
	[ -z "${SHORTEST-}" ] || depth=()
	rm -rf "$scratch/pan" && mkdir "$scratch/pan" && cp "$1" "$scratch/pan/model.pml"
	(cd "$scratch/pan" && spin -a "${@:2}" model.pml && gcc -O1 -w -DSAFETY -DCOLLAPSE -DNOFAIR -DVECTORSZ=2048 -DMEMLIM=4000 ${SHORTEST:+-DBFS} \
		-o pan pan.c && ./pan "${depth[@]}" -n -w24) >"$scratch/said" 2>&1 || { cat "$scratch/said" && exit 2; }
	! grep -qE 'search depth too small|out of memory|memory bound|unreached' "$scratch/said" || { cat "$scratch/said" && exit 2; }
}

# broken: which property the last search found broken; 1: none.
broken() {
	local number
	number=$(sed -nE 's/^pan:1: assertion violated .*\(([0-9]+)==0\).*/\1/p' "$scratch/said")
	[ -n "$number" ] || return 1
	sed -nE "s/^#define ([A-Z_]+) $number \/\* property \*\/$/\1/p" protocol.pml
}

# walk WORDS -D...: nothing may be found.
walk() {
	local begin=$SECONDS found
	search protocol.pml "${@:2}"
	if found=$(broken); then
		echo "protocol: $1: $found DOES NOT HOLD: $0 trail ${*:2}" >&2
		bad=1
		return
	fi
	grep -q 'errors: 0' "$scratch/said" || { cat "$scratch/said" && exit 2; }
	printf '%-58s %9s states %5s steps deep %4s s   %s\n' "$1" "$(sed -nE 's/^ *([0-9]+) states, stored.*/\1/p' "$scratch/said")" \
		"$(sed -nE 's/.*depth reached ([0-9]+),.*/\1/p' "$scratch/said" | head -1)" $((SECONDS - begin)) "${*:2}"
}

# refuse PATCH: what is wrong must be found.
refuse() {
	local wanted found name
	name=$(basename -s .patch "$1")
	cp protocol.pml "$scratch/wrong.pml"
	patch -s -f -F0 "$scratch/wrong.pml" <"$1" >"$scratch/log" || { echo "protocol: $name does not apply: $(head -1 "$scratch/log")" >&2 && bad=1 && return; }
	read -r -a wanted < <(sed -n 's/^found by: //p' "$1")
	search "$scratch/wrong.pml" "${wanted[@]:1}"
	found=$(broken) || found="nothing"
	if [ "$found" = "${wanted[0]}" ]; then
		printf '%-36s found: %s does not hold\n' "$name" "$found"
	else
		echo "protocol: $name: wrong, and $found was found where ${wanted[0]} is broken" >&2
		bad=1
	fi
}

# needed WORDS PROPERTY -D...: what is not assumed is found broken.
needed() {
	local found
	search protocol.pml "${@:3}"
	found=$(broken) || found=nothing
	if [ "$found" = "$2" ]; then
		printf '%-58s not assumed: %s does not hold   %s\n' "$1" "$found" "${*:3}"
	else
		echo "protocol: $1: $found where $2 does not hold" >&2
		bad=1
	fi
}

# beside ARG...: this script with these arguments, beside as many as there are processors.
beside() {
	while [ "$(jobs -rp | wc -l)" -ge "$(nproc)" ]; do wait -n || bad=1; done
	"./$(basename "$0")" "$@" &
}
finish() {
	while [ -n "$(jobs -p)" ]; do wait -n || bad=1; done
}

small() {
	beside walk "the same command twice at a time, kills, stops" -DLIVES=3 -DKILLS=2 -DSTOPS=1
	beside walk "a kill and a power cut" -DLIVES=3 -DKILLS=1 -DCUTS=1
	beside walk "the same, without a ledger" -DLIVES=3 -DKILLS=1 -DCUTS=1 -DCOUNTED=0
	beside walk "another command, --overwrite, a full ledger" -DLIVES=3 -DKILLS=1 -DPLANS=2 -DOVERWRITES=1 -DLIMIT=2
	beside walk "approvals, another command, another charge" -DLIVES=3 -DKILLS=1 -DPLANS=3 -DAPPROVALS=1
	beside walk "another input, charges given back" -DLIVES=3 -DKILLS=1 -DPLANS=4 -DRELEASES=1
	beside walk "files put back, one or all" -DLIVES=3 -DKILLS=1 -DKEPT=1
	beside walk "files copied to another output" -DLIVES=3 -DKEPT=1 -DOUTPUTS=2
	beside walk "a ledger put back" -DLIVES=3 -DKILLS=1 -DRESTORED=1
	# What is assumed is needed: with it left out Spin finds what the assumption rules out.
	beside needed "files put back to before a kill, behind the last entry" ONE_TOKEN -DLIVES=3 -DKILLS=1 -DKEPT=1 -DCARELESS
	beside needed "a kill before the first line of a journal that replaces" TAKES -DLIVES=3 -DKILLS=2 -DPLANS=2 -DOVERWRITES=1
}

large() {
	beside walk "the same command, four processes, three kills, stops" -DLIVES=4 -DKILLS=3 -DSTOPS=1
	beside walk "four processes, a power cut and two kills" -DLIVES=4 -DKILLS=2 -DCUTS=1
	beside walk "four processes, two power cuts" -DLIVES=4 -DKILLS=1 -DCUTS=2
	beside walk "the same, without a ledger" -DLIVES=4 -DKILLS=2 -DCUTS=1 -DCOUNTED=0
	beside walk "two commands, two kills, a full ledger" -DLIVES=3 -DKILLS=2 -DPLANS=2 -DOVERWRITES=1 -DLIMIT=2 -DTAKEN=1
	beside walk "two commands, a power cut" -DLIVES=3 -DKILLS=1 -DCUTS=1 -DPLANS=2 -DOVERWRITES=1 -DTAKEN=1
	beside walk "four plans, --overwrite, two kills" -DLIVES=3 -DKILLS=2 -DPLANS=4 -DOVERWRITES=1 -DTAKEN=1
	beside walk "files put back, two kills, stops" -DLIVES=3 -DKILLS=2 -DKEPT=1 -DSTOPS=1
	beside walk "files copied, a kill" -DLIVES=3 -DKILLS=1 -DKEPT=1 -DOUTPUTS=2
	beside walk "a ledger put back, four processes" -DLIVES=4 -DKILLS=2 -DRESTORED=1
}

# play HOW DIES1 DIES2 STOP1 PLAN2 OVER2 PLAN3 OVER3: three processes, one after the other, in a line.
play() {
	local cuts=0
	[ "$1" = kill ] || cuts=1
	echo "$* : $(spin -T -DWALK -DCUTS=$cuts -DDIES1="$2" -DDIES2="$3" -DSTOP1="$4" -DPLAN2="$5" -DOVER2="$6" -DPLAN3="$7" -DOVER3="$8" protocol.pml 2>&1 |
		sed -nE 's/^ *((process|leaves) [0-9 ]+|[a-z_]+)$/\1/p' | grep -v '^timeout' | paste -sd' ')"
}

# Every step is one before which a process dies: in the first process, in a second one that goes on, in one that overwrites.
plays() {
	local how k whole=30 second=30
	for how in kill cut; do
		for ((k = 0; k <= whole; k++)); do play $how $k 255 255 1 0 1 0; done
		for ((k = 0; k <= second; k++)); do play $how 17 $k 255 2 1 2 1; done
		for ((k = 0; k <= second; k += 3)); do play $how 17 $k 255 2 1 1 0; done
		for first in 4 7 15 26; do
			for ((k = 0; k <= second; k += 2)); do play $how $first $k 255 1 0 1 0; done
		done
		play $how 255 255 0 1 0 1 0
		play $how 255 255 1 1 0 1 0
		for ((k = 20; k <= 23; k++)); do play $how $k 255 1 1 0 1 0; done
	done
}

walks() {
	local name
	plays >"$scratch/walks.txt"
	while read -r name; do
		grep -q " $name " "$scratch/walks.txt" || { echo "protocol: no walk that is replayed takes the step $name" >&2 && bad=1; }
	done < <(grep -oE 'step\([a-z_]+\)' protocol.pml | sed 's/step(\(.*\))/\1/' | grep -vx name | sort -u)
	if [ "${1:-}" = record ]; then cp "$scratch/walks.txt" walks.txt; fi
	cmp -s "$scratch/walks.txt" walks.txt || { echo "protocol: walks.txt is not what Spin says: $0 walks record" >&2 && bad=1; }
	echo "protocol: $(wc -l <walks.txt) walks of three processes are what tests/workflow/test_protocol.c replays"
}

wrongs() {
	local patch
	for patch in wrong/*.patch; do beside refuse "$patch"; done
}

case ${1:-small} in
small) beside walks && small && finish ;;
all) beside walks && small && large && wrongs && finish ;;
walk) walk "${@:2}" ;;
needed) needed "${@:2}" ;;
walks) walks "${2:-}" ;;
refuse) for patch in "${@:2}"; do refuse "$patch"; done ;;
trail)
	SHORTEST=1 search protocol.pml -DTELL "${@:2}"
	broken || { echo "nothing is broken" && exit; }
	(cd "$scratch/pan" && spin -t -k model.pml.trail -DTELL "${@:2}" model.pml 2>&1) | sed -nE 's/^[ \t]*((process|kill|power|files|all of|the |ledger is|release).*)/\1/p'
	;;
*) echo "usage: $0 [all|walks [record]|refuse PATCH|trail -D...]" >&2 && exit 2 ;;
esac
exit $bad
