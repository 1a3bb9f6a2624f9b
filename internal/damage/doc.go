// Package damage damages data directories at random, has them repaired, and lets the crawl go on.
package damage
