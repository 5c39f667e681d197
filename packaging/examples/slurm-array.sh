#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# A shard for each task of a Slurm array. Behind open.sh, and before merge.sh:
#
#     sbatch --array=0-7 slurm-array.sh
#     sbatch --array="$(./merge.sh)" slurm-array.sh      only what lacks, if merge.sh ends with 6
#
# A shard that was stopped (exit 6: a time limit, a preemption, a full disk) goes on when its task is requeued, which this asks for. The
# number of shards is that of the settings, so that a part of the array may be submitted again.
#SBATCH --job-name=cuttle
#SBATCH --output=%x-%a.log
#SBATCH --open-mode=append
#SBATCH --requeue
#SBATCH --signal=B:TERM@60
# shellcheck disable=SC2154 # the settings name what is used here
set -u
# shellcheck source=/dev/null
. "${CUTTLE_SETTINGS:-./cuttle.settings}"
"$cuttle" generate "${options[@]}" -o "$run" --shard "$SLURM_ARRAY_TASK_ID/$shards" &
pid=$!
trap 'kill -TERM $pid' TERM
wait $pid
code=$?
# A signal ends the first wait before the child has ended.
while kill -0 $pid 2>/dev/null; do
	wait $pid
	code=$?
done
if [ $code = 6 ] && [ "${SLURM_RESTART_COUNT:-0}" -lt 10 ]; then scontrol requeue "${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID"; fi
exit $code
