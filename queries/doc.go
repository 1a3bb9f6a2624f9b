// Package queries keeps what people search and click in the own search, so that the pages they look for can be kept
// fresh first.
//
// A Log is a file a day, in the form of which freshet weights reads logs of queries (docs/format/queries.md): a row for
// each page that a query has shown, at which place and in which version, and a later row for each click. Who asked is
// not in it. It holds what Limits allow: days that are too old go, the oldest go when there are too many bytes, and a
// day that has taken its share takes no more.
//
// It is a convenience, and never in the way: a search whose query cannot be noted is answered all the same. A row is
// written when it is known, and not synced; a crash may lose the last ones. A line that is torn by it is cut off before
// the next is written.
//
// What is taken down leaves the log too: Forget takes out every query that has shown it, its words included.
//
// Time is an argument. What the rows mean is decided elsewhere (freshet/weights).
//
// Start reading at log.go, then file.go.
package queries
