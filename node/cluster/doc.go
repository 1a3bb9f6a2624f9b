// Package cluster shares one crawl among several nodes. They communicate only through NATS servers.
//
// A partition's records are in a log on the servers (package log). The log itself decides which node may append: it
// refuses an entry that does not follow the last one. So two nodes never both have a partition, whatever clocks and
// networks do. The rest of this package decides which node should have which partition, and prevents requests to a host
// from two nodes.
//
// Each node keeps a lease: an entry that it writes again every second, each time behind its own last one. If a node's
// entry has not changed for Options.Lease, another node declares it dead with an entry behind its last one. The dead
// node can no longer write its own. It has stopped before that: a node fails if no write of its entry was confirmed for
// most of a lease. A node whose process was stopped and continues could still request pages, so it checks its lease
// before each request. The other nodes take the partitions of a node that is dead or has ended.
//
// The names of the living nodes decide which node should have which partition (Assign). Until that node has followed
// the partition's log to the end, another one keeps it. A node gives away the partitions that it should not have, and
// takes those that it should. To take one, it writes the partition's entry behind the last one. If two nodes try at the
// same time, one fails. A node may write the entry if the partition was given away, or if the run of the node that had
// it is over.
//
// A node follows the logs of other partitions into its own directory, so that it has little left to read when it takes
// one. It follows all of them, or, with Options.Copies, those for which it is among the first in the order of Assign.
// Twice a second it reads what is new in a bounded number of these logs, in turn. The servers could push news only
// through a consumer for each node and log, and those would be too many. A node forgets a partition that it no longer
// follows once enough others have it. One that has just ended still counts, because it may only be restarting. Nodes
// that do not follow a partition learn from an entry which of its seeds widen the scope (scope.go).
//
// With Options.Snapshots the owner of a partition writes snapshots of it to an object store, and truncates the log. If
// a node's next entry is gone, the node loads a snapshot (snapshots.go).
//
// An operator can drain a node, or divide the partitions by their pages: an entry stores that (layout.go).
//
// Orders about a partition are requests that only its node receives (orders.go). A pause of the whole crawl is an entry
// that all nodes obey (pause.go).
//
// Read members.go for the decisions, then cluster.go and moves.go.
package cluster
