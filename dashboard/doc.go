// Package dashboard shows a data directory and the crawl in it over HTTP: a status page, a JSON API,
// Prometheus metrics, and stored versions as Memento (RFC 7089) and pywb address them. It reads through
// one interface, Reader, and changes nothing.
//
// The same handler serves the --listen address, the control socket in the data directory and, in process, the
// commands that read a directory without a running crawl. So a command prints the same whether a crawl is running
// or not.
package dashboard
