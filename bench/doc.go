// Bench compares Freshet with other crawlers. Each crawls the same loopback web on the same machine, one after
// another, as a whole process. A table shows what each took.
//
// The web is 100 hosts, each an address of its own in 127.1.0.0/16, with 20,000 pages of 20 KB and 40 links between
// them. It is made once, from a seed. The server holds it in memory and only looks up a path, counts it and writes
// the answer, so that the crawler and not the web uses the processor. The counts show whether a crawler fetched
// every page, and fetched it once.
//
//	bench run     measure and print the table
//	bench known   measure the memory of a URL that is known and not fetched
//	bench growth  measure the URL-seen test as the known URLs grow, and a database beside it
//	bench serve   serve the web until stopped
//	bench colly   the Colly peer, storing files: bench colly DIRECTORY SEED…
//
// It is a module of its own, so that Freshet itself depends on no peer. Use run.sh, which builds both.
package main
