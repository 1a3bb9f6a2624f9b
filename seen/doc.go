// Package seen is the URL-seen test: which of the links that pages carry are new.
package seen
