// Package repair makes a data directory that opens of one that is damaged.
package repair
