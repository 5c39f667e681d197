#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Tests who may do what at cuttle serve, and how much of it, by tests/serve/roles.py. It fails if a key
# may what its role is not for; if it sees, charges or follows a data set that it was not given, or
# learns that there is one; if a key of an older file may less than before; if an admin's change of
# keys is not told, or a key stands anywhere; if one key has more jobs, bytes or places in the queue
# than it may, or its many jobs keep those of others waiting; if somebody who is no proxy is believed
# whose request it is; if somebody who is no officer reads the audit trail or takes a ledger that was
# put back, or that is charged before one does.
client=$(dirname "$(realpath "$0")")/../serve/roles.py
# shellcheck source=/dev/null
. "$(dirname "$(realpath "$0")")/check.bash"
# shellcheck source=/dev/null
. "$(dirname "$client")/../cli/server.bash"
need_tiny finite
command -v python3 >/dev/null || { echo "skipped: ${0##*/}: there is no python3"; exit 0; }
need_server

refused 2 serve key meter metrics --keys keys --dataset notes
says err 'for the roles use and officer'
refused 2 serve key ann use --keys keys --dataset ''
says err 'dataset: an empty name'
[ ! -e keys ] || fail "a refused key leaves a file"
refused 2 serve -m tiny.gguf --listen 127.0.0.1:0 --trusted-proxy 127.0.0.1
says err 'trusted-proxy needs --keys FILE'
refused 2 serve -m tiny.gguf --listen 127.0.0.1:0 --trusted-proxy proxy.example
says err 'trusted-proxy must be an address'

run_cases "$client" roles officer admin proxy quota fair
exit 0
