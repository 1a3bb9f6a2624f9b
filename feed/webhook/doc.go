// Package webhook posts changes of the store to URLs.
//
// A Sender posts the lines of the change feed (freshet/feed) to each Hook, signed with its secret, until the hook has
// taken them. The position of each hook is on disk, so each change arrives at least once. A hook that is slow or
// unreachable delays no other. The format is in docs/format/feed.md.
package webhook
