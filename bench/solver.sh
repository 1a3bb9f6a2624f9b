#!/bin/bash
# Schedules crawls by Freshet and by two solvers of linear programs, and prints the cost that each finds and
# its processor time: the whole process, reading the instance included. Tasks have ideal times at random, a
# fifth of them must not be early; one crawler has as many slots, 10 s apart. The linear program has a
# variable for every task and slot that may meet.
#
#   bench/solver.sh [TASKS [SEED]]
#
# PROGRAM names a freshet to measure; else this one is built.
# Debian's packages of the solvers: apt-get install glpk-utils coinor-clp
set -euo pipefail
tasks=${1:-200} seed=${2:-1}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if [ -z "${PROGRAM:-}" ]; then
	PROGRAM=$work/program
	CGO_ENABLED=0 go build -C "$(dirname "$0")/.." -trimpath -o "$PROGRAM" ./cmd/freshet
fi

# Tasks that must not be early stay in the first nine tenths, so that there is a slot for each.
awk -v n="$tasks" -v seed="$seed" 'BEGIN {
	srand(seed)
	print "id,time_s,kind"
	for (i = 1; i <= n; i++) {
		release = rand() < 0.2
		print i "," int(rand() * n * (release ? 9 : 10)) "," (release ? "release" : "ordinary")
	}
}' > "$work/tasks.csv"

awk -F, -v n="$tasks" 'BEGIN {
	print "NAME          schedule\nROWS\n N  cost"
	for (i = 1; i <= n; i++) print " E  t" i "\n E  s" i
	print "COLUMNS"
}
NR > 1 {
	for (j = 1; j <= n; j++) {
		off = (j - 1) * 10 - $2
		if (off < 0 && $3 == "release") continue
		column = "x" (++columns)
		printf "    %-8s  %-8s  %12d   %-8s  %12d\n", column, "cost", off < 0 ? -off : off, "t" $1, 1
		printf "    %-8s  %-8s  %12d\n", column, "s" j, 1
	}
}
END {
	print "RHS"
	for (i = 1; i <= n; i++) printf "    %-8s  %-8s  %12d   %-8s  %12d\n", "RHS", "t" i, 1, "s" i, 1
	print "ENDATA"
}' "$work/tasks.csv" > "$work/model.mps"

TIMEFORMAT='%U %S'
measure() { # name, command…: runs it into $work/name, its processor time into $work/name.time
	local name=$1
	shift
	{ time "$@" > "$work/$name" 2> "$work/$name.err"; } 2> "$work/$name.time"
}
report() { # name, cost
	awk -v name="$1" -v cost="$2" '{ printf "%-10s cost %12.0f s   %9.3f s of processor time\n", name, cost, $1 + $2 }' "$work/$1.time"
}

printf '%d tasks, %d slots\n' "$tasks" "$tasks"
measure freshet "$PROGRAM" schedule --tasks "$work/tasks.csv" --crawlers "1x$tasks" --interval "$((tasks * 10))s" --json
report freshet "$(sed 's/.*"cost_s":\([0-9.e+]*\).*/\1/' "$work/freshet")"
if command -v clp > /dev/null; then
	measure clp clp "$work/model.mps"
	report clp "$(awk '/^Optimal objective/ { print $3 }' "$work/clp")"
fi
if command -v glpsol > /dev/null; then
	measure glpsol glpsol --mps "$work/model.mps" --output "$work/glpsol.out"
	report glpsol "$(awk '/^Objective:/ { print $4 }' "$work/glpsol.out")"
fi
