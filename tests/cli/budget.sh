#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# cuttle budget: the paper's numbers, every unknown from the others, and every wrong request refused.
# shellcheck source=/dev/null
. "$(dirname "$(realpath "$0")")/check.bash"
sampling=(-n 500 --temperature 1.2)
common=(--delta 1e-6 -B 7 "${sampling[@]}")

# answer: the number of the last request.
answer() { head -1 out; }
# between LOW HIGH: the answer is above LOW and at most HIGH.
between() {
	awk -v a="$(answer)" -v low="$1" -v high="$2" 'BEGIN { exit !(a > low && a <= high) }' || fail "$(answer) is not in ($1, $2]"
}

for pair in 1:0.0829 3:0.2285 5:0.3615 10:0.6591; do
	exits 0 budget clip -e "${pair%:*}" "${common[@]}"
	says out "^${pair#*:}[0-9]*$"
done

# There and back: the clip's epsilon is at most what was asked for, and almost that.
exits 0 budget clip -e 3 "${common[@]}"
clip=$(answer)
exits 0 budget epsilon --clip "$clip" "${common[@]}"
between 2.999999999 3
exits 0 budget tokens -e 3 --clip "$clip" --delta 1e-6 -B 7 --temperature 1.2
between 498 500
exits 0 budget batch -e 3 --clip "$clip" --delta 1e-6 "${sampling[@]}"
between 6 8
exits 0 budget delta -e 3 --clip "$clip" -B 7 "${sampling[@]}"
between 0.9999e-6 1e-6
exits 0 budget rho --clip "$clip" -B 7 "${sampling[@]}"
between 0.18506 0.18508
exits 0 budget clip -e 3 "${common[@]}" --json
says out '^\{"epsilon":3\.0,"delta":9\.9999999999999995e-0?7,"rho":0\.18506[0-9]*,"clip":0\.2285[0-9]*,"batch":7,"tokens":500,"temperature":1\.2,"accountant":"zcdp"\}$'
exits 0 budget plan "${sampling[@]}"
says out '^ +3 +7 +0\.228547 '
[ "$(grep -c '^ *[0-9]' out)" = 16 ] || fail "plan has not 4 x 4 rows"
exits 0 budget plan "${sampling[@]}" -e 2 -B 8,16 --json
says out '^\[\{"epsilon":2\.0,.*"batch":8,.*\},\{"epsilon":2\.0,.*"batch":16,.*\}\]$'

# The exact accountant: what the paper's clips cost, and the clips that cost as much.
exact=("${common[@]}" --accountant exact)
for pair in 0829:0.9273,0.9275 6591:9.3900,9.3905; do
	exits 0 budget epsilon --clip "0.${pair%:*}" "${exact[@]}"
	numbers=${pair#*:}
	between "${numbers%,*}" "${numbers#*,}"
done
says out 'by exact composition'
for pair in 1:0.08891 10:0.69474; do
	exits 0 budget clip -e "${pair%:*}" "${exact[@]}"
	[ "$(printf %.5f "$(answer)")" = "${pair#*:}" ] || fail "clip for ${pair%:*}: $(answer)"
done
# Fewer tokens take less time.
few=(--delta 1e-6 -B 7 -n 50 --temperature 1.2 --accountant exact)
exits 0 budget clip -e 3 "${few[@]}"
clip=$(answer)
exits 0 budget epsilon --clip "$clip" "${few[@]}"
between 2.999999 3
exits 0 budget tokens -e 3 --clip "$clip" --delta 1e-6 -B 7 --temperature 1.2 --accountant exact
between 48 50
exits 0 budget batch -e 3 --clip "$clip" --delta 1e-6 -n 50 --temperature 1.2 --accountant exact
between 6 8
exits 0 budget delta -e 3 --clip "$clip" -B 7 -n 50 --temperature 1.2 --accountant exact
between 0.9999e-6 1e-6
exits 0 budget rho --clip "$clip" "${few[@]}"
cp out first
exits 0 budget rho --clip "$clip" -B 7 -n 50 --temperature 1.2
[ "$(head -1 first)" = "$(answer)" ] || fail "rho depends on the accountant"
exits 0 budget plan -e 3 -B 7,14 -n 50 --temperature 1.2 --accountant exact
awk -v clip="$clip" '/^ *3/ { if (($3 - clip * $2 / 7) ^ 2 > 1e-11) exit 1; n++ } END { exit n != 2 }' out || fail "plan: $(cat out)"
exits 0 budget clip -e 3 "${few[@]}" --json
says out '"accountant":"exact"\}$'
refused 2 budget clip --rho 1 "${few[@]}"
refused 2 budget clip -e 3 "${few[@]}" -n 32769
says err 'use zcdp'
refused 2 budget clip -e 1e6 "${few[@]}"
refused 2 budget clip -e 3 "${few[@]}" --accountant best

while read -r -a wrong; do refused 2 budget clip "${common[@]}" "${wrong[@]}"; done <<-'END'
	-e 0
	-e -1
	-e nan
	-e inf
	-e 3x
	-e 1e999
	-e 3,5
	-e
	-e 3 --delta 1
	-e 3 --delta 0
	-e 3 --delta -1e-6
	-e 3 -B 0
	-e 3 -B 7.5
	-e 3 -B -7
	-e 3 -B 4294967296
	-e 3 -n 0
	-e 3 -n 99999999999999999999
	-e 3 --temperature 0
	-e 3 --temperature -1
	-e 3 --clip 1
END
refused 2 budget clip -e 3 -B 7 --temperature 1.2
refused 2 budget epsilon --clip 0 "${common[@]}"
refused 2 budget delta -e 3 "${common[@]}"
refused 2 budget
refused 2 budget clap "${common[@]}"
refused 2 budget clip epsilon "${common[@]}"
refused 2 budget plan "${sampling[@]}" -e 1,,3
refused 2 budget plan "${sampling[@]}" -e ,
refused 2 budget plan "${sampling[@]}" -e 1, --json
refused 2 budget plan "${sampling[@]}" -B 7,x
refused 2 budget plan "${sampling[@]}" -B 0
refused 2 budget plan "${sampling[@]}" --clip 1
refused 2 budget plan "${sampling[@]}" -e 3,-1
refused 2 budget plan --temperature 1.2
refused 2 budget plan -n 500
refused 2 budget plan "${sampling[@]}" -e 3 -B "$(seq -s, 1 33)"
