//go:build !planted

package main

import "freshet/node"

// plant does nothing; see planted.go.
func plant(*node.Options) {}
