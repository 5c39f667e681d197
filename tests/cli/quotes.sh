#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tests that a run costs what it is said to cost, by tests/serve/quotes.py: over a grid of plans the dry
# run, the receipt and the ledger name one number, and so do a server's new job, GET and receipt. It
# fails if a person with several records pays more than -e, or more than anybody was told.
client=$(dirname "$(realpath "$0")")/../serve/quotes.py
# shellcheck source=/dev/null
. "$(dirname "$(realpath "$0")")/check.bash"
# shellcheck source=/dev/null
. "$(dirname "$client")/../cli/server.bash"
need_tiny finite
command -v python3 >/dev/null || { echo "skipped: ${0##*/}: there is no python3"; exit 0; }
python3 "$client" command "$CUTTLE" "${CUTTLE_TEST_SHORT:+short}" >told 2>&1 || fail "$(cat told)"
need_server
python3 "$client" server "$CUTTLE" >told 2>&1 || fail "server: $(cat told)"
exit 0
