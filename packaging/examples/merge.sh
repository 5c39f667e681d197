#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The last step of every example, once, where the ledger is. Exit 6: it prints which shards lack, as 0-2,5; run these again.
# shellcheck disable=SC2154 # the settings name what is used here
set -eu
# shellcheck source=/dev/null
. "${CUTTLE_SETTINGS:-./cuttle.settings}"
exec "$cuttle" merge "$run" -o "$output" --ledger "$ledger"
