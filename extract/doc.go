// Package extract reads what a page tells the crawler: its links, what it asks of robots, and a
// digest of its text by which a change is told from noise.
package extract
