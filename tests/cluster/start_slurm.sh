#!/usr/bin/env bash
# Run a command inside a SLURM cluster of two nodes that lives on this machine:
#
#     tests/cluster/start_slurm.sh pytest -m cluster
#     tests/cluster/start_slurm.sh bash
#
# Needs Debian's packages slurm-wlm and munge, and no rights that the user lacks. Each node has one
# CPU, half of the memory and one GPU that is only pretended. Configuration, keys and logs are in a
# temporary directory; the daemons that were started, and nothing else, end with the command.
set -euo pipefail
PATH="$PATH:/usr/sbin"

if [ $# -eq 0 ]; then
    echo "usage: $0 COMMAND [ARGUMENT...]" >&2
    exit 2
fi
for program in munged slurmctld slurmd sbatch; do
    if ! command -v "$program" >/dev/null; then
        echo "$0: $program is missing; install Debian's packages slurm-wlm and munge" >&2
        exit 1
    fi
done

state="$(mktemp -d)"
chmod 755 "$state" # munged wants its socket to be within everybody's reach
export SLURM_CONF="$state/slurm.conf"
host="$(hostname -s)"
memory=$(($(awk '/^MemTotal/ {print $2}' /proc/meminfo) / 1024 / 2 - 256))
daemons=()

stop() {
    status=$?
    scancel --user "$(id -un)" 2>/dev/null || true
    for ((tries = 0; tries < 10; tries++)); do
        [ -n "$(squeue --noheader 2>/dev/null)" ] || break
        sleep 1
    done
    for ((i = ${#daemons[@]} - 1; i >= 0; i--)); do
        kill "${daemons[i]}" 2>/dev/null || true
    done
    wait
    if [ "$status" -eq 0 ]; then
        rm -rf "$state"
    else
        echo "$0: the daemons' logs are in $state" >&2
    fi
    exit "$status"
}
trap stop EXIT
trap 'exit 130' INT TERM

# An own session each, so that Ctrl-C reaches the command and not the daemons.
daemon() {
    local name=$1
    shift
    setsid "$@" >"$state/$name.out" 2>&1 &
    daemons+=($!)
}

wait_for() {
    local what=$1
    shift
    for ((tries = 0; tries < 60; tries++)); do
        if "$@" >/dev/null 2>&1; then return; fi
        sleep 0.5
    done
    echo "$0: $what did not come up" >&2
    exit 1
}

both_nodes_are_idle() {
    [ "$(sinfo --Node --noheader --format %t | grep -c '^idle$')" -eq 2 ]
}

# The executor plugin starts `srun` without any SLURM_ variable, SLURM_CONF included.
mkdir "$state/bin"
printf '#!/bin/sh\nSLURM_CONF=%s exec %s "$@"\n' "$SLURM_CONF" "$(command -v srun)" >"$state/bin/srun"
chmod +x "$state/bin/srun"
export PATH="$state/bin:$PATH"

(umask 077 && head -c 1024 /dev/urandom >"$state/munge.key")
mkdir "$state/controller"
cat >"$SLURM_CONF" <<END
ClusterName=loopback
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=17000
SlurmUser=$(id -un)
SlurmdUser=$(id -un)
AuthType=auth/munge
AuthInfo=socket=$state/munge.socket
StateSaveLocation=$state/controller
SlurmctldPidFile=$state/slurmctld.pid
SlurmctldLogFile=$state/slurmctld.log
SlurmdPidFile=$state/slurmd.%n.pid
SlurmdLogFile=$state/slurmd.%n.log
SlurmdSpoolDir=$state/spool.%n
SlurmdParameters=config_overrides
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core_Memory
SchedulerParameters=batch_sched_delay=1,sched_interval=2
ReturnToService=2
SlurmdTimeout=10
KillWait=5
MinJobAge=36000
GresTypes=gpu
NodeName=n[1-2] NodeHostname=$host NodeAddr=127.0.0.1 Port=[17001-17002] CPUs=1 RealMemory=$memory Gres=gpu:1
PartitionName=main Nodes=n[1-2] Default=YES MaxTime=INFINITE State=UP
END
echo "NodeName=n[1-2] Name=gpu File=/dev/null" >"$state/gres.conf"

daemon munged munged --foreground --force --socket="$state/munge.socket" \
    --key-file="$state/munge.key" --pid-file="$state/munge.pid" \
    --log-file="$state/munge.log" --seed-file="$state/munge.seed"
wait_for munge test -S "$state/munge.socket"
daemon slurmctld slurmctld -D
daemon slurmd.n1 slurmd -D -N n1
daemon slurmd.n2 slurmd -D -N n2
wait_for "the cluster" both_nodes_are_idle

"$@"
