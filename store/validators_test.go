package store

import (
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
)

// TestValidators gives a page visits and checks what is then thought of its site's validators. Of a visit,
// "?" asks without them, the first letter is the text and the second the ETag; "304" is that answer.
func TestValidators(t *testing.T) {
	tests := []struct {
		name, visits string
		want         Validators
	}{
		{"honest", "aA bB ?bB ?cC 304", Validators{Audits: 2, Hidden: 1}},
		{"nothing to judge", "a b ?c", Validators{}},
		{"another text under the same ETag", "aA ?bA", Validators{Audits: 1, Lies: 1, Until: at(1) + int64(distrust)}},
		{"the same in an answer to a condition", "aA bA", Validators{Lies: 1, Until: at(1) + int64(distrust)}},
		{"changes that only audits find", "aA ?bB ?cC 304 ?dD ?eE", Validators{Audits: 4, Until: at(5) + int64(distrust)}},
		{"a change that another visit finds too", "aA ?bB ?cC ?dD eE ?fF", Validators{Audits: 4, Hidden: 1}},
		{"audits while they are not trusted prove nothing", "aA bA ?cC ?dD ?eE ?fF", Validators{Audits: 4, Lies: 1, Until: at(1) + int64(distrust)}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := openTest(t, testOptions(vfs.NewMem()))
			u := parse(t, "http://page.test/")
			for i, visit := range strings.Fields(test.visits) {
				f := &Fetched{URL: u, At: at(i), Outcome: OutcomeStored, Status: 200, Capture: Pointer{File: "f", Offset: int64(i), Length: 1}}
				if visit == "304" {
					f.Outcome, f.Status = OutcomeNotModified, 304
				} else {
					visit, f.Unconditional = strings.CutPrefix(visit, "?")
					f.BodyDigest, f.TextDigest, f.ETag = BodyDigest{visit[0]}, TextDigest{visit[0]}, visit[1:]
				}
				commitPages(t, s, Fetch{Record: f})
			}
			row, err := s.Site(u.Site())
			if err != nil || row.Validators != test.want {
				t.Errorf("%+v, %v: want %+v", row.Validators, err, test.want)
			}
		})
	}
}
