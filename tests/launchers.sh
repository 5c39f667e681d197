#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# Runs packaging/examples as they stand: Slurm's array, with a task that is stopped and requeued, and its steps; OpenMPI, Hydra, GNU
# parallel; and the command of the Kubernetes manifest, with what an indexed Job sets. It fails if merged bytes are not those of one machine.
# Slurm is two nodes on this machine, without daemons of the system. What is not installed is skipped, and says so: ./setup.sh cluster
# Environment: CUTTLE. About half a minute.
# shellcheck disable=SC2154 # check.bash and the settings name what is used here
examples=$(dirname "$(dirname "$(realpath "$0")")")/packaging/examples
# shellcheck source=/dev/null
. "$(dirname "$(realpath "$0")")/cli/check.bash"
export CUTTLE # for the examples
need_tiny finite
for i in $(seq 0 79); do echo "{\"text\":\"note $i of a gardener\"}"; done >notes.jsonl
daemons=()
end_all() {
	local pid
	for pid in "${daemons[@]}"; do kill "$pid" 2>/dev/null; done
	for pid in "${daemons[@]}"; do wait "$pid" 2>/dev/null; done
	rm -rf "$work"
}
trap '[ $BASHPID != $$ ] || end_all' EXIT

# The first start of shard 1 is stopped when it has drawn a little, as a time limit would.
cat >stopped-once <<'END'
#!/bin/bash
words=$*
if [ ! -e stopped ] && [[ $words = *--shard\ 1/* ]]; then
	"$CUTTLE" "$@" --isa scalar --parallel 1 &
	journal=$(printf 'RUN/shard-00001-of-%05d.jsonl.journal' "${words##*/}")
	until [ "$(grep -c '' "$journal" 2>/dev/null)" -gt 3 ] 2>/dev/null; do kill -0 $! || exit 1; done
	: >stopped
	kill -TERM $!
	wait $!
	exit
fi
exec "$CUTTLE" "$@"
END
chmod +x stopped-once
cat >cuttle.settings <<'END'
cuttle=${STOPPED_ONCE:-$CUTTLE}
run=RUN shards=4 output=out.jsonl ledger=spent.db dataset=notes
options=(-i notes.jsonl -B 2 -n 60 -e 3 -N 40 --lots off --accountant zcdp --insecure-seed 3 -t 1 -q)
[ -z "${SLURM_RESTART_COUNT-}" ] || echo "$SLURM_ARRAY_TASK_ID" >>requeued
END
# shellcheck source=/dev/null
. ./cuttle.settings
exits 0 generate "${options[@]}" -o one.jsonl
exits 0 ledger init --ledger spent.db --dataset notes --epsilon-limit 10
begun=$SECONDS
ready() {
	rm -rf RUN out.* stopped
	"$examples/open.sh" >log 2>&1 || fail "$1: open: $(cat log)"
}
# finished NAME: the merged output is that of one machine.
finished() {
	"$examples/merge.sh" >log 2>&1 || fail "$1: $(cat log out.log cuttle*.log 2>/dev/null)"
	merged "$1"
}
merged() {
	same out.jsonl one.jsonl "$1"
	echo "launchers: $1: as one machine, after $((SECONDS - begun)) s"
}
# there COMMAND...: whether all are installed; else says what is left out.
there() {
	local command
	for command; do
		command -v "$command" >/dev/null && continue
		echo "skipped: launchers.sh: there is no $command (./setup.sh cluster)"
		return 1
	done
}

if there mpirun; then
	ready OpenMPI
	OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 "$examples/openmpi.sh" --oversubscribe >out.log 2>&1
	finished OpenMPI
fi
if there mpiexec.hydra; then
	ready Hydra
	"$examples/hydra.sh" >out.log 2>&1 || fail "Hydra: $(cat out.log)"
	finished Hydra
fi
if there parallel; then
	ready 'GNU parallel'
	STOPPED_ONCE=./stopped-once "$examples/parallel.sh" -j 2 >out.log 2>&1 || fail "GNU parallel: $(cat out.log)"
	[ -e stopped ] || fail "GNU parallel: no shard was stopped"
	finished 'GNU parallel, a shard stopped and tried again'
fi

# The manifest's own commands, but for what is where, with what Kubernetes sets in an indexed Job.
if python3 -c 'import yaml' 2>/dev/null; then
	rm -rf RUN out.*
	python3 - "$examples/kubernetes.yaml" <<-'END' >commands || fail "the manifest is wrong"
		import shlex, sys, yaml
		jobs = list(yaml.safe_load_all(open(sys.argv[1])))
		assert [j["metadata"]["labels"]["step"] for j in jobs] == ["open", "generate", "merge"]
		spec = jobs[1]["spec"]
		assert spec["completionMode"] == "Indexed"
		rule = spec["podFailurePolicy"]["rules"][0]
		assert rule["onExitCodes"]["values"] == [6, 137] and rule["onExitCodes"]["operator"] == "NotIn" and rule["action"] == "FailJob"
		only = lambda job: job["spec"]["template"]["spec"]["containers"][0]
		env = {e["name"]: e["value"] for e in only(jobs[1])["env"]}
		assert env == {"CUTTLE_SHARDS": str(spec["completions"])}
		# Else each mount lets the group read the references, and no shard is drawn.
		assert all(j["spec"]["template"]["spec"]["securityContext"]["fsGroupChangePolicy"] == "OnRootMismatch" for j in jobs)
		# Of the two claims only the first and the last job see the second.
		assert [len(only(j)["volumeMounts"]) for j in jobs] == [2, 1, 2]
		for job in jobs:
		    words = only(job)["command"]
		    assert words[0] == "cuttle"
		    # -m is CUTTLE_MODEL here, and the numbers are those of a small run.
		    for option, value in {"-m": None, "--public-examples": None, "-N": "40", "-B": "2", "-n": "60", "-e": "3", "--kind": "text",
		                          "--temperature": "1", "-i": "notes.jsonl", "--ledger": "spent.db"}.items():
		        if option in words:
		            at = words.index(option)
		            words[at:at + 2] = [option, value] if value else []
		    if words[1] != "merge":
		        words += ["--lots", "off", "--insecure-seed", "3", "--accountant", "zcdp", "-t", "1", "-q"]
		    if words[1] == "generate":
		        for index in range(spec["completions"]):
		            print(f"JOB_COMPLETION_INDEX={index} CUTTLE_SHARDS={env['CUTTLE_SHARDS']}", shlex.join(words))
		    else:
		        print(shlex.join(words))
	END
	cuttle() { "$CUTTLE" "$@"; }
	while read -r command; do
		eval "$command" >log 2>&1 || fail "Kubernetes: $command: $(cat log)"
	done <commands
	merged 'Kubernetes, the commands of the manifest'
else
	echo "skipped: launchers.sh: there is no yaml for python3, so the Kubernetes manifest is not read (./setup.sh cluster)"
fi

there slurmctld slurmd srun sbatch scontrol || exit 0
ports=$((20000 + RANDOM % 20000))
cat >slurm.conf <<END
ClusterName=ci
SlurmctldHost=$(hostname -s)(127.0.0.1)
SlurmctldPort=$((ports + 9))
SlurmdPort=$((ports + 8))
SlurmUser=$(id -un)
SlurmdUser=$(id -un)
AuthType=auth/none
CredType=cred/none
AuthInfo=cred_expire=5
StateSaveLocation=$work/state
SlurmdSpoolDir=$work/spool-%n
SlurmdPidFile=$work/%n.pid
SlurmctldPidFile=$work/c.pid
SlurmdLogFile=$work/%n.slurm
SlurmctldLogFile=$work/c.slurm
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
JobAcctGatherType=jobacct_gather/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
JobRequeue=1
ReturnToService=2
SlurmdTimeout=5
SchedulerParameters=sched_interval=2,sched_min_interval=0
NodeName=n[1-2] NodeHostname=$(hostname -s) NodeAddr=127.0.0.1 Port=[$((ports + 1))-$((ports + 2))] CPUs=2 RealMemory=100
PartitionName=main Nodes=n[1-2] Default=YES MaxTime=10
END
mkdir state
export SLURM_CONF=$work/slurm.conf
PATH=$PATH:/usr/sbin
slurmctld -D >c.log 2>&1 &
daemons+=($!)
for node in n1 n2; do
	slurmd -D -N $node >$node.log 2>&1 &
	daemons+=($!)
done
for ((tries = 0; tries < 150; tries++)); do
	[ "$(sinfo -h -t idle -o %D 2>/dev/null)" = 2 ] && break
	sleep 0.2
done
[ $tries -lt 150 ] || fail "Slurm does not begin: $(tail -n 3 c.log c.slurm n1.log n1.slurm)"

rm -rf RUN out.*
sbatch -W -N 2 --ntasks=4 "$examples/slurm-steps.sh" >log 2>&1 || fail "Slurm steps: $(cat log cuttle.log)"
merged 'Slurm, the steps of one job on two nodes'

ready 'Slurm array'
STOPPED_ONCE=$work/stopped-once sbatch -W --array=0-3 "$examples/slurm-array.sh" >log 2>&1 || fail "Slurm array: $(cat log cuttle-*.log)"
[ -e stopped ] || fail "Slurm array: no task was stopped"
same requeued <(echo 1) "what was requeued"
finished 'Slurm array, a task requeued'

# What merge lacks is what the array is submitted for again.
ready 'Slurm array'
sbatch -W --array=0,3 "$examples/slurm-array.sh" >log 2>&1 || fail "Slurm array: $(cat log cuttle-*.log)"
lacking=$("$examples/merge.sh" 2>/dev/null)
[ "$lacking" = 1-2 ] || fail "merge says that $lacking lacks"
sbatch -W --array="$lacking" "$examples/slurm-array.sh" >log 2>&1 || fail "Slurm array: $(cat log cuttle-*.log)"
finished 'Slurm array, submitted again for what lacked'
