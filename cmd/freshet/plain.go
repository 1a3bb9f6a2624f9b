//go:build !planted

package main

import "freshet/crawl"

// plant does nothing; see planted.go.
func plant(*crawl.Options) {}
