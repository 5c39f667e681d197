#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# The first step of every example, once, where the records and the ledger are: charges the run and deals out its references.
# shellcheck disable=SC2154 # the settings name what is used here
set -eu
# shellcheck source=/dev/null
. "${CUTTLE_SETTINGS:-./cuttle.settings}"
exec "$cuttle" shard open "${options[@]}" -o "$run" --shards "$shards" --ledger "$ledger" --dataset "$dataset"
