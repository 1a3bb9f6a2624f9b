package store_test

import (
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"

	"freshet/store"
	"freshet/store/internal/storetest"
)

// TestValidators gives a page visits and checks the store's opinion of its site's validators. In a visit, "?" asks
// without validators, the first letter is the text and the second the ETag. "304" is that answer.
func TestValidators(t *testing.T) {
	tests := []struct {
		name, visits string
		want         store.Validators
	}{
		{"honest", "aA bB ?bB ?cC 304", store.Validators{Audits: 2, Hidden: 1}},
		{"nothing to judge", "a b ?c", store.Validators{}},
		{"another text under the same ETag", "aA ?bA", store.Validators{Audits: 1, Lies: 1, Until: storetest.At(1) + store.Distrust}},
		{"the same in an answer to a condition", "aA bA", store.Validators{Lies: 1, Until: storetest.At(1) + store.Distrust}},
		{"changes that only audits find", "aA ?bB ?cC 304 ?dD ?eE", store.Validators{Audits: 4, Until: storetest.At(5) + store.Distrust}},
		{"a change that another visit finds too", "aA ?bB ?cC ?dD eE ?fF", store.Validators{Audits: 4, Hidden: 1}},
		{"audits while they are not trusted prove nothing", "aA bA ?cC ?dD ?eE ?fF", store.Validators{Audits: 4, Lies: 1, Until: storetest.At(1) + store.Distrust}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := storetest.Open(t, storetest.Options(vfs.NewMem()))
			u := storetest.Parse(t, "http://page.test/")
			for i, visit := range strings.Fields(test.visits) {
				f := &store.Fetched{URL: u, At: storetest.At(i), Outcome: store.OutcomeStored, Status: 200, Capture: store.Pointer{File: "f", Offset: int64(i), Length: 1}}
				if visit == "304" {
					f.Outcome, f.Status = store.OutcomeNotModified, 304
				} else {
					visit, f.Unconditional = strings.CutPrefix(visit, "?")
					f.BodyDigest, f.TextDigest, f.ETag = store.BodyDigest{visit[0]}, store.TextDigest{visit[0]}, visit[1:]
				}
				storetest.Commit(t, s, store.Fetch{Record: f})
			}
			row, err := s.Site(u.Site())
			if err != nil || row.Validators != test.want {
				t.Errorf("%+v, %v: want %+v", row.Validators, err, test.want)
			}
		})
	}
}
