// Package multicast carries frames to many receivers as datagrams, one copy for all of them.
//
// A frame is cut into blocks of up to 64 shards, and each block gets parity shards, one to four of data
// (Reed and Solomon 1960): as many datagrams of a block as it has data shards bring it back, whichever they
// are. With a tenth of the datagrams lost that is nearly always so; what is still missing the receiver asks
// for elsewhere, by byte ranges that Receiver.Await names.
//
//	┌────────┬───────┬────────┬────────┬─────────────────┬──────┬───────────┐
//	│ format │ shard │ block  │ size   │ serial          │ tag  │ the shard │
//	│ 1 byte │ 1     │ 4      │ 4      │ 8 bytes, big-e. │ 16   │ ≤ 1,200   │
//	└────────┴───────┴────────┴────────┴─────────────────┴──────┴───────────┘
//
// size is that of the whole frame, from which follows where its blocks and shards lie; serial tells frames
// apart, and grows. The tag is the beginning of an HMAC-SHA-256, by the sender's key, over all the rest: what has a
// wrong one is dropped unread. Who has the key could send too: who wants to know that a frame is as it was sent
// compares a digest that came another way. A receiver holds a bounded number of bytes, whatever arrives.
//
// Start reading at layout.go, then sender.go and receiver.go.
package multicast
