#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# All three steps in one Slurm job, a shard for each of its tasks; the ledger is where the job's script runs.
#
#     sbatch --ntasks=8 slurm-steps.sh      as many tasks as the settings have shards
#
# A task that fails does not end the others: merge says what lacks, and the same job, submitted again, continues.
#SBATCH --job-name=cuttle
#SBATCH --output=%x.log
#SBATCH --open-mode=append
# shellcheck disable=SC2154 # the settings name what is used here
set -u
# shellcheck source=/dev/null
. "${CUTTLE_SETTINGS:-./cuttle.settings}"
"$cuttle" shard open "${options[@]}" -o "$run" --shards "$shards" --ledger "$ledger" --dataset "$dataset" || exit
srun --kill-on-bad-exit=0 "$cuttle" generate "${options[@]}" -o "$run" --shard auto
exec "$cuttle" merge "$run" -o "$output" --ledger "$ledger"
