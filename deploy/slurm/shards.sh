#!/bin/bash
# Plays an experiment in 16 shards, each a task of a job array. To change their number, change --array and SHARDS.
#SBATCH --job-name=scale-shards
#SBATCH --array=0-15
#SBATCH --ntasks=1
#SBATCH --cpus-per-task=2
#SBATCH --mem=2G
#SBATCH --time=04:00:00
#SBATCH --requeue
#SBATCH --output=scale-shards-%A-%a.log
set -euo pipefail

# SHARDS is not Slurm's count of tasks: that is smaller when a few are submitted again with --array=3,7.
: "${SHARDS:=16}"
: "${SCALE:=scale}"
: "${EXPERIMENT:=paper}"
: "${RECORDS:=$PWD/records}"

# Tasks share machines, so decisions are timed later: see merge.sh.
exec "$SCALE" measure "$EXPERIMENT" --shard "$SLURM_ARRAY_TASK_ID/$SHARDS" --untimed --out "$RECORDS"
