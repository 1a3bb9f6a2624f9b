// Package webhook tells URLs of what changes in the store.
//
// A Sender posts the lines of the change feed (freshet/feed) to each Hook, signed with its secret, until the hook has
// taken them. How far a hook has been told is on disk, so that each change arrives at least once. One hook that is slow
// or away holds up no other. The format is in docs/format/feed.md.
package webhook
