// Package fetch asks sites for pages and keeps what was said on the wire.
package fetch
