package multicast_test

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"math/rand/v2"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"freshet/clock"
	"freshet/feed/broadcast/multicast"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// air carries datagrams to a receiver: it loses some of them, and lets some be overtaken.
type air struct {
	chance           *rand.Rand
	loss, overtaking float64
	held             [][]byte
	to               *multicast.Receiver
	sent             int
	size             int64
}

func (a *air) Write(datagram []byte) (int, error) {
	a.sent++
	a.size += int64(len(datagram))
	if a.chance.Float64() < a.loss {
		return len(datagram), nil
	}
	if a.chance.Float64() < a.overtaking {
		a.held = append(a.held, bytes.Clone(datagram))
		return len(datagram), nil
	}
	a.to.Take(datagram)
	if len(a.held) > 0 && a.chance.Float64() < 0.7 {
		a.to.Take(a.held[0])
		a.to.Take(a.held[0]) // and twice
		a.held = a.held[1:]
	}
	return len(datagram), nil
}

// TestFrames sends frames of all sizes through a lossy network. Frames that arrive equal those sent, the reported
// gaps are right, and sending takes the announced time.
func TestFrames(t *testing.T) {
	for name, test := range map[string]struct {
		loss, overtaking float64
		mostMissing      int // bytes of the 1.5 MB
	}{
		"good air":        {0, 0, 0},
		"reordered":       {0, 0.3, 5_000}, // what waits to be overtaken when nothing follows is lost
		"a tenth is lost": {0.1, 0.1, 160_000},
		"half is lost":    {0.5, 0.1, 2_000_000},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				const pace = 1e6
				c := clock.Real()
				receiver := multicast.NewReceiver(8<<20, c)
				a := &air{chance: rand.New(rand.NewPCG(1, 2)), loss: test.loss, overtaking: test.overtaking, to: receiver}
				sender := multicast.NewSender(a, pace, c)
				defer sender.Close()
				receiver.Trust(sender.Key())
				lost, all, chance := 0, int64(0), rand.New(rand.NewPCG(3, 4))
				begin := c.Now()
				for i, size := range []int{1, 2, 1199, 1200, 1201, 76_799, 76_800, 76_801, 150_000, 200_001, 1_000_000} {
					frame := make([]byte, size)
					for at := range frame {
						frame[at] = byte(chance.Uint32())
					}
					bytes, takes := sender.Send(uint64(i+1), frame)
					all += bytes
					got, missing, err := receiver.Await(t.Context(), uint64(i+1), size, takes+time.Second)
					if err != nil || len(got) != size {
						t.Fatalf("%d bytes: got %d, %v", size, len(got), err)
					}
					for _, span := range missing {
						lost += copy(got[span.From:span.To], frame[span.From:span.To])
					}
					if string(got) != string(frame) {
						t.Errorf("%d bytes: other bytes than were sent, beside %v", size, missing)
					}
				}
				took := c.Now().Sub(begin).Seconds()
				time.Sleep(time.Minute) // the last parity shards were not waited for
				synctest.Wait()
				if lost > test.mostMissing {
					t.Errorf("%d bytes were missing: want at most %d", lost, test.mostMissing)
				}
				if a.size != all {
					t.Errorf("%d bytes left, %d were said to", a.size, all)
				}
				if most := float64(all)/pace + 12; took > most {
					t.Errorf("it took %.2f s: want at most %.2f", took, most)
				}
				t.Logf("%d datagrams, %d bytes for %d missing, %.2f s", a.sent, a.size, lost, took)
			})
		})
	}
}

// FuzzTake holds that no datagram harms a receiver, even from a sender with the key, and that one with a wrong tag
// leaves no trace.
func FuzzTake(f *testing.F) {
	f.Add([]byte{2, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 9, 'x'})
	f.Add([]byte{2, 79, 0, 0, 0, 1, 0x0f, 0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 0, 0, 9, 'x'})
	f.Fuzz(func(t *testing.T, datagram []byte) {
		synctest.Test(t, func(t *testing.T) { // whose time passes at once while Await waits for what is missing
			key := []byte("a key")
			r := multicast.NewReceiver(1<<20, clock.Real())
			r.Trust(key)
			r.Take(datagram)
			if r.Arrivals() > 0 {
				t.Errorf("%x is taken", datagram)
			}
			for range 2 {
				r.Take(tagged(key, datagram))
				if len(datagram) > 18 {
					datagram[1]++
				}
			}
			frame, missing, err := r.Await(t.Context(), 9, 1, 0)
			if err != nil || len(frame) != 1 || len(missing) == 0 && r.Arrivals() == 0 {
				t.Errorf("%q, %v, %v", frame, missing, err)
			}
		})
	})
}

// tagged puts the tag of a key into a datagram without one.
func tagged(key, datagram []byte) []byte {
	if len(datagram) < 18 {
		return datagram
	}
	mac := hmac.New(sha256.New, key)
	mac.Write(datagram)
	return slices.Concat(datagram[:18], mac.Sum(nil)[:16], datagram[18:])
}

// writer takes a datagram a Write.
type writer func([]byte)

func (w writer) Write(datagram []byte) (int, error) { w(datagram); return len(datagram), nil }

// TestStrangersAreNotHeard holds that any number of forged, altered or cut datagrams, or those of another run of the
// server, leave no trace in a receiver: the awaited frame arrives whole. Duplicates count once.
func TestStrangersAreNotHeard(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clock.Real()
		frame := make([]byte, 300_000)
		for i := range frame {
			frame[i] = byte(i * i)
		}
		record := func(frames int) (key []byte, sent [][]byte) {
			sender := multicast.NewSender(writer(func(d []byte) { sent = append(sent, d) }), 1e9, c)
			for serial := range uint64(frames) {
				sender.Send(serial+1, frame)
			}
			time.Sleep(time.Minute)
			sender.Close()
			return sender.Key(), sent
		}
		key, ours := record(1)
		_, others := record(40)
		receiver := multicast.NewReceiver(1<<20, c)
		receiver.Take(ours[0])
		receiver.Trust(key)
		for i, d := range ours {
			for _, strange := range [][]byte{
				others[i], d[:len(d)-1], d[:20], append(bytes.Clone(d), 0), tagged([]byte("guessed"), slices.Concat(d[:18], d[34:])),
			} {
				receiver.Take(strange)
			}
			for at := range 60 { // head, tag, and the shard's beginning
				altered := bytes.Clone(d)
				altered[at] ^= 1
				receiver.Take(altered)
			}
		}
		for _, d := range others {
			receiver.Take(d)
		}
		if receiver.Arrivals() > 0 {
			t.Errorf("%d datagrams of strangers were taken", receiver.Arrivals())
		}
		for _, d := range ours {
			receiver.Take(d)
			receiver.Take(d)
		}
		got, missing, err := receiver.Await(t.Context(), 1, len(frame), time.Second)
		if err != nil || len(missing) > 0 || !bytes.Equal(got, frame) {
			t.Errorf("%v, %v", missing, err)
		}
		for _, d := range ours { // again, when the frame is done with
			receiver.Take(d)
		}
		if got, missing, _ := receiver.Await(t.Context(), 1, len(frame), 0); len(missing) != 1 {
			t.Errorf("a frame that came again is held: %d bytes, missing %v", len(got), missing)
		}
	})
}

// TestReceiverIsBounded sends the beginnings of many frames: the oldest go.
func TestReceiverIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		receiver := multicast.NewReceiver(1<<20, clock.Real())
		a := &air{chance: rand.New(rand.NewPCG(1, 2)), loss: 0.5, to: receiver}
		sender := multicast.NewSender(a, 1e9, clock.Real())
		receiver.Trust(sender.Key())
		frame := make([]byte, 500_000)
		const frames = 40
		for i := range uint64(frames) {
			sender.Send(i+1, frame)
		}
		time.Sleep(time.Minute)
		sender.Close()
		kept := 0
		for i := range uint64(frames) {
			_, missing, err := receiver.Await(t.Context(), i+1, len(frame), 0)
			if err != nil {
				t.Fatal(err)
			}
			if len(missing) != 1 || missing[0].To-missing[0].From < len(frame) {
				kept++
			}
		}
		if kept > 4 {
			t.Errorf("something is kept of %d frames", kept)
		}
	})
}
