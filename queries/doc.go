// Package queries logs searches and clicks in Freshet's own search, so that the pages that people look for can be
// kept fresh first.
//
// A Log is a file a day, in the form of which freshet weights reads logs of queries (docs/format/queries.md): a row for
// each page that a query has shown, at which place and in which version, and a later row for each click. Who asked is
// not in it. It holds what Limits allow: days that are too old go, the oldest go when there are too many bytes, and a
// day that has taken its share takes no more.
//
// Logging never blocks a search: a search whose query cannot be logged is still answered. A row is written at once
// but not synced, so a crash may lose the last rows. A torn line is cut off before the next one is written.
//
// What is taken down leaves the log too: Forget deletes every query that showed it, including its words.
//
// Time is an argument. What the rows mean is decided elsewhere (freshet/weights).
//
// Start reading at log.go, then file.go.
package queries
