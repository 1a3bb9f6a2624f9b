// Package frontier decides which page is fetched next, and when.
package frontier
