#!/bin/sh
# How long the window's panes take on a data directory of so many sites with a thousand URLs each: for each pane the
# median and the slowest of ten answers by the clock, and the processor's time of an answer; and for the panes that cost
# most, what one open window takes of a processor. With 10,000 sites it takes some ten minutes and 600 MB of disk,
# nearly all to make it. A data directory that was made before can be given in its place.
#
#   bench/panes.sh [SITES [SECONDS]]
#
# SECONDS is how long each window stays open, 20 by default. PROGRAM is the absolute path of a freshet to
# measure; else this one is built.
set -eu
what=${1:-10000} seconds=${2:-20}
cd "$(dirname "$0")"
dir=$(mktemp -d)
trap 'kill $viewer 2>/dev/null || true; rm -rf "$dir"' EXIT
if [ -z "${PROGRAM:-}" ]; then
	PROGRAM=$dir/freshet
	CGO_ENABLED=0 go build -C .. -trimpath -o "$PROGRAM" ./cmd/freshet
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
