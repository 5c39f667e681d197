#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A shard at a time for each machine, by GNU parallel and ssh. Behind open.sh, and before merge.sh:
#
#     ./parallel.sh --sshloginfile hosts -j 1 --workdir .
#
# A shard that lost its connection is tried again, and continues.
# shellcheck disable=SC2154 # the settings name what is used here
set -u
# shellcheck source=/dev/null
. "${CUTTLE_SETTINGS:-./cuttle.settings}"
seq 0 $((shards - 1)) | parallel "$@" -q --retries 3 "$cuttle" generate "${options[@]}" -o "$run" --shard "{}/$shards"
