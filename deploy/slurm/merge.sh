#!/bin/bash
# Once all shards are done: verifies and joins their records, times decisions one cell at a time, writes the report.
#SBATCH --job-name=scale-merge
#SBATCH --ntasks=1
#SBATCH --exclusive
#SBATCH --time=04:00:00
#SBATCH --output=scale-merge-%j.log
set -euo pipefail

: "${SCALE:=scale}"
: "${EXPERIMENT:=paper}"
: "${RECORDS:=$PWD/records}"
: "${MERGED:=$PWD/merged}"

"$SCALE" merge "$MERGED" "$RECORDS"
# Nothing is left to play: this takes the decision times alone, all of them on this machine.
"$SCALE" measure "$EXPERIMENT" --out "$MERGED"
"$SCALE" report "$EXPERIMENT" --out "$MERGED"
