// Package multicast carries frames to many receivers as datagrams, one copy for all of them.
//
// A frame is cut into blocks of up to 64 data shards. Each block also gets parity shards, one for four data shards
// (Reed and Solomon 1960). A receiver restores a block from any of its shards, if it has as many as the block has
// data shards. It nearly always has, even if a tenth of the datagrams is lost. Receiver.Await returns the byte ranges
// that are still missing; the client fetches them over HTTP.
//
//	┌────────┬───────┬────────┬────────┬─────────────────┬──────┬───────────┐
//	│ format │ shard │ block  │ size   │ serial          │ tag  │ the shard │
//	│ 1 byte │ 1     │ 4      │ 4      │ 8 bytes, big-e. │ 16   │ ≤ 1,200   │
//	└────────┴───────┴────────┴────────┴─────────────────┴──────┴───────────┘
//
// size is the size of the whole frame; it determines the places of blocks and shards. serial identifies the frame,
// and grows. The tag is the beginning of an HMAC-SHA-256, with the sender's key, of everything else. A receiver drops
// datagrams with a wrong tag unread. Everybody with the key can also send. So a client that needs proof compares the
// frame with a digest from its HTTP stream. A receiver holds a bounded number of bytes, whatever arrives.
//
// Start reading at layout.go, then sender.go and receiver.go.
package multicast
