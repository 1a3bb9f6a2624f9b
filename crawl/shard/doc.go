// Package shard decides everything about the pages of a crawl.
package shard
