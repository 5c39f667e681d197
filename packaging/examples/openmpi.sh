#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A shard for each rank of OpenMPI. Behind open.sh, and before merge.sh:
#
#     ./openmpi.sh --hostfile hosts
#
# What mpirun answers is not asked: it says 0 even where a rank has failed, and without the second option one that fails ends all others.
# merge.sh says what lacks.
# shellcheck disable=SC2154 # the settings name what is used here
set -u
# shellcheck source=/dev/null
. "${CUTTLE_SETTINGS:-./cuttle.settings}"
mpirun "$@" --mca orte_abort_on_non_zero_status 0 -n "$shards" "$cuttle" generate "${options[@]}" -o "$run" --shard auto
