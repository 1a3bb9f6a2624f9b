#!/bin/sh
# Measures Freshet beside other crawlers and prints the table. Arguments go to `bench run`.
# Debian's packages of the peers: apt-get install time wget httrack wrk python3-scrapy
set -eu
cd "$(dirname "$0")"
bin=$(mktemp -d)
trap 'rm -rf "$bin"' EXIT
CGO_ENABLED=0 go build -C .. -trimpath -o "$bin/freshet" ./cmd/freshet
CGO_ENABLED=0 go build -trimpath -o "$bin/bench" .
"$bin/bench" run -freshet "$bin/freshet" -scrapy "$PWD/scrapy_peer.py" "$@"
