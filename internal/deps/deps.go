// Package deps keeps the modules that rooms under construction need in go.mod; it goes when they import them.
package deps

import (
	_ "github.com/klauspost/reedsolomon"
	_ "gonum.org/v1/gonum/optimize"
)
