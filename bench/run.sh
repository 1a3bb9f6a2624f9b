#!/bin/sh
# Measures Freshet beside other crawlers, on a web whose hosts link much to each other and on one where
# they do so little, and the memory of a known URL. Arguments go to `bench run`. Takes some ten minutes.
# Debian's packages of the peers: apt-get install time wget httrack wrk python3-scrapy
set -eu
cd "$(dirname "$0")"
bin=$(mktemp -d)
trap 'rm -rf "$bin"' EXIT
CGO_ENABLED=0 go build -C .. -trimpath -o "$bin/freshet" ./cmd/freshet
CGO_ENABLED=0 go build -trimpath -o "$bin/bench" .
"$bin/bench" run -freshet "$bin/freshet" -scrapy "$PWD/scrapy_peer.py" "$@"
echo
"$bin/bench" run -freshet "$bin/freshet" -foreign 1 -only "Freshet,Colly,Colly one file,wget --mirror,wget --warc-file" "$@"
echo
"$bin/bench" known -freshet "$bin/freshet"
