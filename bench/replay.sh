#!/bin/bash
# Recrawls recorded histories by every refresh policy at four budgets, and prints the tables of docs/refresh.md:
# means over seeds with their intervals. What was measured is kept in DIR, a file for each policy and budget,
# and not measured again; some hours of processor time in all, most of it at the largest budget.
#
#   bench/replay.sh HISTORIES [DIR [POLICIES [SHARES]]]
#
# Needs jq. PROGRAM names a freshet to measure; else this one is built. POLICIES and SHARES are lists between spaces; a HISTORIES of "" prints what DIR has.
set -euo pipefail
histories=$1 dir=${2:-replay-results}
policies=${3:-uniform fixed nutch stormcrawler hindsight oracle proportional lambdacrawl cgm azar default folder-shock bayes reset plan}
shares=${4:-0.002 0.01 0.05 0.2}
mkdir -p "$dir"
if [ -n "$histories" ]; then
	if [ -z "${PROGRAM:-}" ]; then
		PROGRAM=$(cd "$dir" && pwd)/program
		CGO_ENABLED=0 go build -C "$(dirname "$0")/.." -trimpath -o "$PROGRAM" ./cmd/freshet
	fi
	for share in $shares; do
		for policy in $policies; do
			result=$dir/$policy-$share.json seeds=3
			case $policy in default | folder-shock | uniform | fixed | nutch | stormcrawler) seeds=5 ;; esac
			[ -s "$result" ] && continue
			"$PROGRAM" lab run replay --json --quiet --histories "$histories" --policy "$policy" --budget-share "$share" --seeds "$seeds" > "$result.new"
			mv "$result.new" "$result"
		done
	done
fi
for what in freshness weighted_freshness mean_age_s; do
	jq -r --arg what "$what" '.parameters as $p | .rows[] | select(.site == null) | [.policy, $p.budget_share, .[$what], .[$what + "_ci"] // 0, $p.seeds] | @tsv' "$dir"/*.json |
		awk -v what="$what" -v order="$policies" -v shares="$shares" '
			{ age = what ~ /age/
			  scale = age ? 86400 : 1; digits = age ? 2 : 4
			  cell[$1, $2] = sprintf("%.*f ± %.*f", digits, $3 / scale, digits, $4 / scale) }
			END {
				nr = split(order, policy, " "); ns = split(shares, share, " ")
				printf "| %s |", age ? "mean age, days" : what
				for (s = 1; s <= ns; s++) printf " %g %% |", 100 * share[s]
				printf "\n| --- |"
				for (s = 1; s <= ns; s++) printf " --- |"
				print ""
				for (p = 1; p <= nr; p++) {
					row = ""; known = 0
					for (s = 1; s <= ns; s++) { c = cell[policy[p], share[s]]; known += c != ""; row = row " " (c == "" ? "" : c) " |" }
					if (known) print "| " policy[p] " |" row
				}
				print ""
			}'
done
