#!/bin/sh
# How long the window's panes take on a data directory of so many sites with a thousand URLs each: the slowest of five
# answers of each pane, in seconds. With 10,000 sites it takes some ten minutes and 600 MB of disk, nearly all to make it.
set -eu
sites=${1:-10000}
cd "$(dirname "$0")"
dir=$(mktemp -d)
trap 'kill $viewer 2>/dev/null || true; rm -rf "$dir"' EXIT
CGO_ENABLED=0 go build -C .. -trimpath -o "$dir/freshet" ./cmd/freshet
awk -v sites="$sites" 'BEGIN { for (s = 0; s < sites; s++) for (p = 0; p < 1000; p++) printf "http://site-%d.example/a/page-%d.html\n", s, p }' |
	"$dir/freshet" import --data "$dir/data" - >&2
"$dir/freshet" view "$dir/data" >"$dir/said" 2>&1 &
viewer=$!
until grep -q ' shows ' "$dir/said"; do sleep 0.2; done
window=$(sed -n 's|/ shows .*||p' "$dir/said")
for pane in / /freshness /sites '/sites?sort=pages&backward=true' '/sites?q=site-7' /changes /trouble /fleet /feed \
	'/find?q=site-1' '/find?q=page-77' '/page?url=http://site-5.example/a/page-3.html' '/api/v1/sites?limit=1000'; do
	for _ in 1 2 3 4 5; do
		curl -fs -o /dev/null -w '%{time_total}\n' "$window$pane"
	done | sort -n | tail -n 1 | xargs printf '%s %s\n' "$pane"
done
