#!/bin/bash
# Recrawls recorded histories by every refresh policy at some budgets, and prints tables:
# freshness with its interval over three seeds, mean age in days, and of the way from uniform to the oracle how much
# each policy closes; then freshness by weight. What was measured is kept in DIR, a file for each policy and budget,
# and not measured again; of the six years of commits some hours of processor time, most of it at the largest budget.
#
#   bench/replay.sh HISTORIES [DIR [POLICIES [SHARES [FLAG…]]]]
#
# Needs jq. PROGRAM names a freshet to measure; else this one is built. POLICIES and SHARES are lists between spaces,
# FLAGs are for freshet lab run replay; a HISTORIES of "" prints what DIR has.
set -euo pipefail
histories=$1 dir=${2:-replay-results}
policies=${3:-uniform fixed nutch stormcrawler proportional cgm azar lambdacrawl sampling-0.3 sampling-1 bayes plan default oracle hindsight}
shares=${4:-0.002 0.01 0.05 0.2}
shift $(($# < 4 ? $# : 4))
mkdir -p "$dir"
if [ -n "$histories" ]; then
	if [ -z "${PROGRAM:-}" ]; then
		PROGRAM=$(cd "$dir" && pwd)/program
		CGO_ENABLED=0 go build -C "$(dirname "$0")/.." -trimpath -o "$PROGRAM" ./cmd/freshet
	fi
	for share in $shares; do
		for policy in $policies; do
			result=$dir/$policy-$share.json
			[ -s "$result" ] && continue
			"$PROGRAM" lab run replay --json --quiet --histories "$histories" --policy "$policy" --budget-share "$share" --seeds 3 "$@" > "$result.new"
			mv "$result.new" "$result"
		done
	done
fi
for what in freshness weighted_freshness; do
	jq -r --arg what "$what" '.parameters as $p | .rows[] | select(.site == null) | [.policy, $p.budget_share, .[$what], .[$what + "_ci"] // 0, .mean_age_s / 86400] | @tsv' "$dir"/*.json |
		awk -v what="$what" -v order="$policies" -v shares="$shares" '
			{ fresh[$1, $2] = $3; half[$1, $2] = $4; age[$1, $2] = $5 }
			END {
				nr = split(order, policy, " "); ns = split(shares, share, " ")
				printf "| %s |", what == "freshness" ? "freshness, age, share closed" : "freshness by weight"
				for (s = 1; s <= ns; s++) printf " %g %% |", 100 * share[s]
				printf "\n| --- |"
				for (s = 1; s <= ns; s++) printf " --- |"
				print ""
				for (p = 1; p <= nr; p++) {
					row = ""; known = 0
					for (s = 1; s <= ns; s++) {
						at = policy[p] SUBSEP share[s]; low = "uniform" SUBSEP share[s]; high = "oracle" SUBSEP share[s]; cell = ""
						if (at in fresh) {
							known++
							cell = sprintf("%.4f ± %.4f", fresh[at], half[at])
							if (what == "freshness") cell = cell sprintf(" &nbsp; %.2f d", age[at])
							if (what == "freshness" && low in fresh && high in fresh && policy[p] !~ /^(uniform|oracle|hindsight)$/)
								cell = cell sprintf(" &nbsp; %.2f", (fresh[at] - fresh[low]) / (fresh[high] - fresh[low]))
						}
						row = row " " cell " |"
					}
					if (known) print "| " policy[p] " |" row
				}
				print ""
			}'
done
