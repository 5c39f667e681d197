#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A shard for each rank of MPICH's launcher, Hydra. Behind open.sh, and before merge.sh:
#
#     ./hydra.sh -f hosts
#
# -disable-auto-cleanup: a rank that fails does not end the others.
# shellcheck disable=SC2154 # the settings name what is used here
set -u
# shellcheck source=/dev/null
. "${CUTTLE_SETTINGS:-./cuttle.settings}"
mpiexec.hydra "$@" -disable-auto-cleanup -n "$shards" "$cuttle" generate "${options[@]}" -o "$run" --shard auto
