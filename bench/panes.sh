#!/bin/sh
# How long the window's panes take on a data directory of SITES sites with a thousand URLs each: for each pane the
# median and the slowest of ten answers by the clock, and the processor's time of an answer; and for the panes that cost
# most, what one open window takes of a processor. With 10,000 sites it takes some ten minutes and 600 MB of disk,
# nearly all to make it. A data directory that was made before can be given in its place.
#
#   bench/panes.sh [SITES [SECONDS]]
#
# SECONDS is how long each window stays open, 20 by default. PROGRAM is the absolute path of a freshet to
# measure; else this one is built.
#
#   bench/panes.sh crawl [ROUNDS [SECONDS [SITES]]]
#
# measures what open windows cost a crawl that runs: it imports a thousand URLs of each of SITES sites on loopback,
# 10,000 by default, crawls them, and in rounds of SECONDS (10 by default) has no window open, or three. It prints the
# processor's time of the crawl for a thousand requests in each round, and what the median gains with windows. Each
# round is judged beside those before and after it, because the cost grows with the directory. Then it prints the
# share of the panes in a profile, which other programs on the machine disturb less. Four ROUNDS, the default, take
# ten minutes. The sites answer 404, so a request costs a fraction of a stored page, and the windows weigh more than
# in a real crawl.
set -eu
what=${1:-10000} seconds=${2:-20}
cd "$(dirname "$0")"
dir=$(mktemp -d)
trap 'kill $viewer 2>/dev/null || true; rm -rf "$dir"' EXIT
if [ -z "${PROGRAM:-}" ]; then
	PROGRAM=$dir/freshet
	CGO_ENABLED=0 go build -C .. -trimpath -o "$PROGRAM" ./cmd/freshet
fi
if [ "$what" = crawl ]; then
	rounds=${2:-4} seconds=${3:-10} sites=${4:-10000} window=http://127.0.0.1:8351
	CGO_ENABLED=0 go build -trimpath -o "$dir/bench" .
	"$dir/bench" serve -hosts "$sites" -pages "$sites" >"$dir/seeds" &
	web=$!
	trap 'kill $viewer $web 2>/dev/null || true; wait; rm -rf "$dir"' EXIT
	until [ "$(wc -l <"$dir/seeds")" -eq "$sites" ]; do sleep 0.2; done
	awk '{ sub("/[^/]*$", ""); for (p = 0; p < 1000; p++) print $0 "/a/absent-" p ".html" }' "$dir/seeds" |
		"$PROGRAM" import --data "$dir/data" - >&2
	"$PROGRAM" crawl --data "$dir/data" --allow-private --delay 0s --contact mailto:bench@example.org --quiet --listen "${window#http://}" \
		--cpuprofile "$dir/profile" >&2 &
	viewer=$!
	state() { # requests and ticks
		curl -fs "$window/api/v1/status" | tr ',' '\n' | sed -n 's/^"requests"://p'
		awk '{ print $14 + $15 }' "/proc/$viewer/stat"
	}
	until [ "$(state 2>/dev/null | head -n 1)" -gt 1000 ] 2>/dev/null; do sleep 0.5; done
	echo 'windows processor_ms_per_1000_requests requests'
	for round in $(seq 0 $((2 * rounds))); do
		open=$((round % 2 * 3)) before=$(state)
		if [ $open -gt 0 ]; then
			for pane in / '/sites?sort=pages&backward=true' /trouble; do
				timeout "$seconds" curl -fsN -o /dev/null -H 'Accept: text/event-stream' "$window$pane" || true &
			done
		fi
		sleep "$seconds"
		echo $open $before $(state) | awk -v hz="$(getconf CLK_TCK)" '{ print $1, 1e6 * ($5 - $3) / hz / ($4 - $2), $4 - $2 }'
	done | tee "$dir/rounds"
	awk '{ t[NR] = $2 } END { for (i = 2; i < NR; i += 2) print 100 * (2 * t[i] / (t[i - 1] + t[i + 1]) - 1) }' "$dir/rounds" |
		sort -n | awk '{ v[NR] = $1 } END { printf "three open windows: %+.1f %% (%+.1f to %+.1f)\n", v[int((NR + 1) / 2)], v[1], v[NR] }'
	kill -INT $viewer
	wait $viewer || true
	go tool pprof -top -cum -focus freshet/dashboard "$PROGRAM" "$dir/profile" 2>/dev/null |
		awk '/^Showing nodes/ { printf "of the whole profile, in which windows are open half of the time, their panes are %s\n", $6 }'
	exit
fi
data=$what
if ! [ -d "$data" ]; then
	data=$dir/data
	awk -v sites="$what" 'BEGIN { for (s = 0; s < sites; s++) for (p = 0; p < 1000; p++) printf "http://site-%d.example/a/page-%d.html\n", s, p }' |
		"$PROGRAM" import --data "$data" - >&2
fi
"$PROGRAM" view "$data" --listen 127.0.0.1:0 >"$dir/said" 2>&1 &
viewer=$!
until grep -q ' shows ' "$dir/said"; do sleep 0.2; done
window=$(sed -n 's|/ shows .*||p' "$dir/said")
ticks() { awk '{ print $14 + $15 }' "/proc/$viewer/stat"; }
hz=$(getconf CLK_TCK)
echo 'pane median_s slowest_s processor_ms'
for pane in / /freshness /sites '/sites?sort=pages&backward=true' '/sites?q=site-7' /changes /trouble /fleet /feed \
	'/find?q=site-1' '/find?q=page-77' '/page?url=http://site-5.example/a/page-3.html' '/api/v1/sites?limit=1000'; do
	before=$(ticks)
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		curl -fs -o /dev/null -w '%{time_total}\n' "$window$pane"
	done | sort -n >"$dir/times"
	echo "$pane $(sed -n 5p "$dir/times") $(tail -n 1 "$dir/times") $((($(ticks) - before) * 100 / hz))"
done
echo 'open_window percent_of_a_processor'
for pane in / /sites /trouble; do
	before=$(ticks)
	timeout "$seconds" curl -fsN -o /dev/null -H 'Accept: text/event-stream' "$window$pane" || true
	echo "$pane $(awk -v ticks=$(($(ticks) - before)) -v hz="$hz" -v s="$seconds" 'BEGIN { print 100 * ticks / hz / s }')"
done
