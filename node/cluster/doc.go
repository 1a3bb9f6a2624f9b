// Package cluster shares one crawl among several nodes, which know one another by NATS servers alone.
//
// A partition's records are in a log that the servers keep (package log). Which node may append to it the log itself
// says: an entry that does not follow the last one is refused. So two nodes never both have a partition, whatever
// clocks and networks do. All else here only decides who should have which, and sees to it that no host is asked by
// two.
//
// Each node keeps a lease: an entry that it writes again every second, each time behind its own last one. A node whose
// entry has not changed for Options.Lease is declared dead, by an entry behind its last one. From then on it cannot
// write its own, and it has stopped before: it fails when it has not heard for most of a lease that its entry was
// written. A node that stood still and goes on would ask for pages first: so it looks at its lease before each request.
// Partitions of a node that is dead, or has ended, are taken by the others.
//
// Who should have which partition follows from the names of the nodes that are alive (Assign). Until that node has
// followed the partition's log to its end, another one keeps it. A node gives what it is not to have, in order; it
// takes what it is to have. For that it writes the partition's entry, behind the last one: of two that would have a
// partition at once one fails. It may write where the partition was given, and where the run of a node that had it is
// over.
//
// A node follows the logs of others' partitions into its own directory, so that it has little left to read when it
// takes one: of all, or, with Options.Copies, of those for which it is among the first in the order of Assign. What it
// follows no more it forgets when others have it. A node that has just ended still counts for that: it may only be
// started again. Seeds that make the scope wider are told to those that do not follow (scope.go).
//
// With Options.Snapshots the owner of a partition puts snapshots of it into an object store, and truncates the log. A
// node whose next entry is gone goes on with a snapshot (snapshots.go).
//
// An operator may have a node drained, or the partitions divided by their pages: an entry says so (layout.go).
//
// Orders about a partition are requests that only its node hears (orders.go); a pause of the whole crawl is an entry
// that all obey (pause.go).
//
// Read members.go for what is decided, then cluster.go, moves.go.
package cluster
