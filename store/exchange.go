package store

import (
	"fmt"

	"github.com/cockroachdb/pebble/v2"

	"freshet/store/internal/database"
	"freshet/store/internal/format"
	"freshet/weburl"
)

// Partitions may have different owners, which decide independently. An owner sends links to the owner of the page
// that they point to. The records of the sending partition hold the links until the other owner has accepted them.
// Each side notes its progress in its own partition, so a link counts once, however often it is sent.

// Arrived accepts links from records of partition From. It changes no page: the seen test decides about the links,
// as about those of any other record. If Record is not above that of the last Arrived from the same partition,
// Arrived does nothing. If From is the partition itself, the links are from its own pages to other partitions, and
// are offered again.
type Arrived struct {
	Partition weburl.Partition `cbor:"-"`
	From      weburl.Partition `cbor:"1,keyasint,omitempty"`
	Record    uint64           `cbor:"2,keyasint,omitempty"` // the last record of From whose links are accepted
	Links     []NewPage        `cbor:"3,keyasint,omitempty"` // without Order and Seed

	Number uint64 `cbor:"-"` // set by Apply: its own number
}

// Parted records that the partition's links to partition To are sent to another owner from now on, if they come from
// records after number Record. One owner had both partitions until then and decided about earlier links. Joined says
// that both partitions have one owner again and all sent links were accepted: no more are sent.
type Parted struct {
	Partition weburl.Partition `cbor:"-"`
	To        weburl.Partition `cbor:"1,keyasint,omitempty"`
	Record    uint64           `cbor:"2,keyasint,omitempty"`
	Joined    bool             `cbor:"3,keyasint,omitempty"`
}

// Taken records that the partition has a new owner.
type Taken struct {
	Partition weburl.Partition `cbor:"-"`
	By        string           `cbor:"1,keyasint,omitempty"` // its name; "": the crawl has only one owner
}

// Owner is the owner of a partition. Zero: the node that made the partition.
type Owner struct {
	Name   string `cbor:"1,keyasint,omitempty"`
	Record uint64 `cbor:"2,keyasint,omitempty"` // number of the Taken that made it the owner
}

// IsZero reports whether o says nothing.
func (o Owner) IsZero() bool { return o == Owner{} }

// Peer is what a partition notes about another one.
type Peer struct {
	Partition weburl.Partition // the other
	Arrived   uint64           // the last of its records whose links are accepted; 0: none
	Parted    bool             // links to it are sent, of …
	After     uint64           // … records after this number
}

func (*Arrived) kind() recordKind { return kindArrived }
func (*Parted) kind() recordKind  { return kindParted }
func (*Taken) kind() recordKind   { return kindTaken }

func (r *Arrived) home(*homes) weburl.Partition { return r.Partition }
func (r *Parted) home(*homes) weburl.Partition  { return r.Partition }
func (r *Taken) home(*homes) weburl.Partition   { return r.Partition }

func (r *Arrived) settle(p weburl.Partition) { r.Partition = p }
func (r *Parted) settle(p weburl.Partition)  { r.Partition = p }
func (r *Taken) settle(p weburl.Partition)   { r.Partition = p }

func (r *Arrived) check() error {
	for i := range r.Links {
		if r.Links[i].URL.IsZero() {
			return fmt.Errorf("store: arrived: link %d has no URL", i)
		}
	}
	return nil
}

func (r *Parted) check() error { return nil }
func (r *Taken) check() error  { return nil }

func (st *state) arrived(p weburl.Partition, n uint64, r *Arrived) {
	r.Number = n
	st.key = st.keys.AppendPeer(st.key[:0], p, format.KeyArrived, r.From)
	pair := [2]weburl.Partition{p, r.From}
	last, known := st.arrivals[pair]
	if !known {
		st.load(&last)
	}
	if r.Record > last {
		last = r.Record
		st.set(last)
	}
	st.arrivals[pair] = last
}

func (st *state) parted(p weburl.Partition, r *Parted) {
	st.key = st.keys.AppendPeer(st.key[:0], p, format.KeyParted, r.To)
	if r.Joined {
		st.delete()
		return
	}
	st.set(r.Record)
}

// Peers returns what a partition notes about others, by their numbers.
func (s *Store) Peers(p weburl.Partition) ([]Peer, error) { return readPeers(s.db, s.keys, p) }

func readPeers(db pebble.Reader, keys format.Keyspace, p weburl.Partition) (peers []Peer, err error) {
	from, to := keys.KindSpan(p, format.KeyArrived)
	err = database.Scan(db, from, to, func(key, value []byte) error {
		peer, err := format.PeerTail(key[len(from):])
		if err != nil {
			return err
		}
		peers = append(peers, Peer{Partition: peer})
		return format.DecodeValue(value, &peers[len(peers)-1].Arrived)
	})
	if err != nil {
		return nil, err
	}
	i := 0
	from, to = keys.KindSpan(p, format.KeyParted)
	err = database.Scan(db, from, to, func(key, value []byte) error {
		peer, err := format.PeerTail(key[len(from):])
		if err != nil {
			return err
		}
		for i < len(peers) && peers[i].Partition < peer {
			i++
		}
		if i == len(peers) || peers[i].Partition != peer {
			peers = append(peers[:i], append([]Peer{{Partition: peer}}, peers[i:]...)...)
		}
		peers[i].Parted = true
		return format.DecodeValue(value, &peers[i].After)
	})
	return peers, err
}
