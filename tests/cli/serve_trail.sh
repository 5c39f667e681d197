#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tests the audit trail of cuttle serve, by tests/serve/trail.py. It fails if something that was done
# with a job or a key is not told before it is answered, or is told twice, or by another name; if a
# killed server loses an entry or doubles one; if a trail that was edited, cut or put in another order
# is called whole, or a server goes on with it unasked; if a full disk lets something be done that is
# not told; if, of many random requests of many keys, one that was answered is not told once, or a charge is not that of
# one job; if a charge is lost where a ledger was backed up under load and put back on another machine; if receipts and trail are signed by another key than the server tells; if a trail that somebody else wrote puts words of its own into a command that is printed; if a word of a text, a number of records or a key stands in it.
client=$(dirname "$(realpath "$0")")/../serve/trail.py
# shellcheck source=/dev/null
. "$(dirname "$(realpath "$0")")/check.bash"
# shellcheck source=/dev/null
. "$(dirname "$client")/../cli/server.bash"
need_tiny finite
command -v python3 >/dev/null || { echo "skipped: ${0##*/}: there is no python3"; exit 0; }
need_server

refused 2 serve trail
says err 'to check an audit trail type: cuttle serve trail verify STATE'
refused 2 serve trail look state
refused 4 serve trail verify none
for unfit in '--sign no.key' --trail-restored '--trail-copy -'; do
	# shellcheck disable=SC2086 # an option and its value
	refused 2 serve -m tiny.gguf --listen 127.0.0.1:0 $unfit
	says err "${unfit%% *} needs --state FOLDER"
done

cases=(story edited signed restored backup named forged full "killed 6")
requests=300
if nightly; then
	cases=("${cases[@]/killed 6/killed 60}")
	requests=10000
fi
run_cases "$client" "${cases[@]}"
# What a storm meets depends on which of its clients is first, so it has no place in the gate.
short || run_cases "${client%trail.py}storm.py" "storm $requests"
exit 0
