package cluster

import (
	"fmt"

	"github.com/fxamacker/cbor/v2"
	"github.com/klauspost/compress/s2"

	"freshet/crawl"
	"freshet/crawl/discovery"
	"freshet/store"
	"freshet/weburl"
)

// Links travel between nodes as the records that their target will make of them, compressed, in messages of a size
// that a server accepts. If a message is lost, all are sent again.

// message is a part of a parcel.
type message struct {
	From  weburl.Partition `cbor:"1,keyasint"`
	ID    uint64           `cbor:"2,keyasint"` // of the parcel
	Index int              `cbor:"3,keyasint"` // of the part
	Last  bool             `cbor:"4,keyasint,omitempty"`
	Data  []byte           `cbor:"5,keyasint"`
}

const (
	mostPart   = 512 << 10 // bytes of a part
	mostParcel = 64 << 20  // most bytes of a parcel, before and after decompression
)

// encodeParcel returns the messages of a parcel.
func encodeParcel(p crawl.Parcel, id uint64) (messages [][]byte, err error) {
	var records [][]byte
	for _, part := range p.Parts {
		r := &store.Arrived{Partition: p.To, From: p.From, Record: part.Record, Links: discovery.Arrive(part.Links)}
		records = append(records, store.AppendRecord(nil, r))
	}
	raw, err := cbor.Marshal(records)
	if err != nil {
		return nil, fmt.Errorf("cluster: parcel: %w", err)
	}
	data := s2.Encode(nil, raw)
	for i := 0; ; i++ {
		n := min(len(data), mostPart)
		m := message{From: p.From, ID: id, Index: i, Last: n == len(data), Data: data[:n]}
		raw, err := cbor.Marshal(m)
		if err != nil {
			return nil, fmt.Errorf("cluster: parcel: %w", err)
		}
		messages = append(messages, raw)
		if data = data[n:]; m.Last {
			return messages, nil
		}
	}
}

// inbound joins the messages of parcels to one partition, by where they come from.
type inbound struct {
	to      weburl.Partition
	partial map[weburl.Partition]*message // what has arrived so far
}

// add handles a message and returns the parcel that it completes, if any. It ignores a message out of sequence: the
// parcel is sent again.
func (in *inbound) add(raw []byte) (p crawl.Parcel, whole bool, err error) {
	var m message
	if err := cbor.Unmarshal(raw, &m); err != nil {
		return p, false, fmt.Errorf("cluster: parcel: %w", err)
	}
	if m.Index > 0 {
		before := in.partial[m.From]
		if before == nil || before.ID != m.ID || before.Index != m.Index-1 || len(before.Data)+len(m.Data) > mostParcel {
			delete(in.partial, m.From)
			return p, false, nil
		}
		m.Data = append(before.Data, m.Data...)
	}
	if !m.Last {
		in.partial[m.From] = &m
		return p, false, nil
	}
	delete(in.partial, m.From)
	p, err = decodeParcel(m, in.to)
	return p, err == nil, err
}

func decodeParcel(m message, to weburl.Partition) (p crawl.Parcel, err error) {
	p = crawl.Parcel{From: m.From, To: to}
	size, err := s2.DecodedLen(m.Data)
	if err != nil || size > mostParcel {
		return p, fmt.Errorf("cluster: parcel from partition %d of %d bytes: %w", m.From, size, err)
	}
	raw, err := s2.Decode(nil, m.Data)
	if err != nil {
		return p, fmt.Errorf("cluster: parcel from partition %d: %w", m.From, err)
	}
	var records [][]byte
	if err := cbor.Unmarshal(raw, &records); err != nil {
		return p, fmt.Errorf("cluster: parcel from partition %d: %w", m.From, err)
	}
	for _, raw := range records {
		record, err := store.DecodeRecord(raw)
		if err != nil {
			return p, err
		}
		arrived, ok := record.(*store.Arrived)
		if !ok || arrived.From != m.From {
			return p, fmt.Errorf("cluster: parcel from partition %d: a %T in it", m.From, record)
		}
		p.Parts = append(p.Parts, crawl.Part{Record: arrived.Record, Links: discovery.ArrivedLinks(arrived.Links)})
	}
	return p, nil
}
