// Package deps keeps the modules that rooms under construction need in go.mod; it goes when they import them.
package deps

import (
	_ "github.com/klauspost/reedsolomon"
	_ "github.com/parquet-go/parquet-go"
	_ "gonum.org/v1/gonum/optimize"
)
