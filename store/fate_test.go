package store_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cockroachdb/pebble/v2/vfs"
	"github.com/google/go-cmp/cmp"

	"freshet/store"
	"freshet/store/internal/storetest"
	"freshet/weburl"
)

// TestFates gives each page a row of answers, one a minute. After each it checks the fate of the page: its state, its
// number of versions, and the kind of its entry in the change log, at the number of the visit that made the entry.
func TestFates(t *testing.T) {
	visits := map[string]func(f *store.Fetched){
		"a":       func(f *store.Fetched) { f.BodyDigest, f.TextDigest = store.BodyDigest{1}, store.TextDigest{1} },
		"a-noise": func(f *store.Fetched) { f.BodyDigest, f.TextDigest = store.BodyDigest{2}, store.TextDigest{1} },
		"b":       func(f *store.Fetched) { f.BodyDigest, f.TextDigest = store.BodyDigest{3}, store.TextDigest{3} },
		"a-reread": func(f *store.Fetched) {
			f.BodyDigest, f.TextDigest, f.Reread = store.BodyDigest{1}, store.TextDigest{7}, true
		},
		"a-reread-same": func(f *store.Fetched) {
			f.BodyDigest, f.TextDigest, f.Reread = store.BodyDigest{1}, store.TextDigest{1}, true
		},
		"listed": func(f *store.Fetched) { f.BodyDigest, f.Capture = store.BodyDigest{1}, store.Pointer{} },
		"read": func(f *store.Fetched) {
			f.BodyDigest, f.TextDigest, f.Size = store.BodyDigest{1}, store.TextDigest{1}, 5
		},
		"image":  func(f *store.Fetched) { f.BodyDigest = store.BodyDigest{4} },
		"image2": func(f *store.Fetched) { f.BodyDigest = store.BodyDigest{5} },
		"noarchive": func(f *store.Fetched) {
			f.BodyDigest, f.TextDigest, f.NoArchive = store.BodyDigest{1}, store.TextDigest{1}, true
		},
		"noarch-b": func(f *store.Fetched) {
			f.BodyDigest, f.TextDigest, f.NoArchive = store.BodyDigest{3}, store.TextDigest{3}, true
		},
		"a-noai": func(f *store.Fetched) {
			f.BodyDigest, f.TextDigest, f.PageSignals = store.BodyDigest{1}, store.TextDigest{1}, "meta robots: noai"
		},
		"304-site": func(f *store.Fetched) {
			f.Outcome, f.Status, f.SiteSignals = store.OutcomeNotModified, 304, "robots.txt content-usage: bots=n"
		},
		"304-noarch": func(f *store.Fetched) {
			f.Outcome, f.Status, f.NoArchive = store.OutcomeNotModified, 304, true
		},
		"304-noai": func(f *store.Fetched) {
			f.Outcome, f.Status, f.PageSignals = store.OutcomeNotModified, 304, "header robots: noai"
		},
		"500-site": func(f *store.Fetched) {
			f.Outcome, f.Status, f.SiteSignals = store.OutcomeServerError, 500, "robots.txt content-usage: bots=n"
		},
		"cut":     func(f *store.Fetched) { f.BodyDigest, f.Truncated = store.BodyDigest{9}, "length" },
		"soft":    func(f *store.Fetched) { f.BodyDigest, f.SoftError = store.BodyDigest{9}, true },
		"304":     func(f *store.Fetched) { f.Outcome, f.Status = store.OutcomeNotModified, 304 },
		"404":     func(f *store.Fetched) { f.Outcome, f.Status = store.OutcomeMissing, 404 },
		"403":     func(f *store.Fetched) { f.Outcome, f.Status = store.OutcomeClientError, 403 },
		"500":     func(f *store.Fetched) { f.Outcome, f.Status = store.OutcomeServerError, 500 },
		"timeout": func(f *store.Fetched) { f.Outcome, f.Status = store.OutcomeFailed, 0 },
		"denied":  func(f *store.Fetched) { f.Outcome, f.Status = store.OutcomeDenied, 0 },
		"301x":    func(f *store.Fetched) { redirect(f, "http://x.test/", true) },
		"301y":    func(f *store.Fetched) { redirect(f, "http://y.test/", true) },
		"302x":    func(f *store.Fetched) { redirect(f, "http://x.test/", false) },
	}
	tests := []struct{ name, visits, want string }{
		{"first version", "a", "live/1/new@1"},
		{"the same bytes are a visit only", "a a", "live/1/new@1 live/1/new@1"},
		{"other bytes with the same text are noise", "a a-noise", "live/1/new@1 live/2/new@1"},
		{"other text is a change", "a b", "live/1/new@1 live/2/changed@2"},
		{"the same bytes, read as other text, are a change", "a a-reread", "live/1/new@1 live/2/changed@2"},
		{"the same bytes, read as the same text, are noise", "a a-reread-same", "live/1/new@1 live/2/new@1"},
		{"the body of a page that a list told of", "listed read read", "live/1/new@1 live/2/changed@2 live/2/changed@2"},
		{"without text the bytes tell", "image image2 image2", "live/1/new@1 live/2/changed@2 live/2/changed@2"},
		{"text that comes to be is a change", "image a", "live/1/new@1 live/2/changed@2"},
		{"not modified", "a 304", "live/1/new@1 live/1/new@1"},
		{"not modified without a version is missing data", "304", "error/0/-"},
		{"failures are missing data", "a cut soft 500 timeout 403 b", "live/1/new@1 live/1/new@1 live/1/new@1 live/1/new@1 live/1/new@1 live/1/new@1 live/2/changed@7"},
		{"after a failure the same is no change", "a cut a", "live/1/new@1 live/1/new@1 live/1/new@1"},
		{"never good: error", "500 403 cut soft", "error/0/- error/0/- error/0/- error/0/-"},
		{"never good: unreached, then an error, then good", "timeout 500 a", "unreached/0/- error/0/- live/1/new@3"},
		{"never good: denied", "denied", "denied/0/-"},
		{"never good: missing at once, and a failure does not hide it", "404 500 a", "missing/0/- missing/0/- live/1/new@3"},
		{"gone at the second 404", "a 404 404 404", "live/1/new@1 live/1/new@1 gone/1/gone@3 gone/1/gone@3"},
		{"a failure neither confirms nor clears a 404", "a 404 500 404", "live/1/new@1 live/1/new@1 live/1/new@1 gone/1/gone@4"},
		{"an answer clears a 404", "a 404 a 404 304 404", "live/1/new@1 live/1/new@1 live/1/new@1 live/1/new@1 live/1/new@1 live/1/new@1"},
		{"gone and back unchanged is a change", "a 404 404 a", "live/1/new@1 live/1/new@1 gone/1/gone@3 live/1/changed@4"},
		{"gone and back by a 304", "a 404 404 304", "live/1/new@1 live/1/new@1 gone/1/gone@3 live/1/changed@4"},
		{"gone and back changed", "a 404 404 b", "live/1/new@1 live/1/new@1 gone/1/gone@3 live/2/changed@4"},
		{"the same, and other signals, is a change", "a a-noai a-noai", "live/1/new@1 live/1/changed@2 live/1/changed@2"},
		{"signals of robots.txt change too, also by a 304", "a 304-site 304-site 304", "live/1/new@1 live/1/changed@2 live/1/changed@2 live/1/changed@4"},
		{"a 304 says nothing of the page's own signals", "a-noai 304", "live/1/new@1 live/1/new@1"},
		{"a 304 may forbid more", "a 304-noai 304 a", "live/1/new@1 live/1/changed@2 live/1/changed@2 live/1/changed@4"},
		{"a failure changes no signals", "a 500-site a", "live/1/new@1 live/1/new@1 live/1/new@1"},
		{"never good: redirect at once", "302x", "redirect/0/-"},
		{"never good: redirect, then good", "301x a", "redirect/0/- live/1/new@2"},
		{"moved at the second", "a 301x 301x", "live/1/new@1 live/1/new@1 moved/1/moved@3"},
		{"another target does not confirm", "a 301x 301y 301y", "live/1/new@1 live/1/new@1 live/1/new@1 moved/1/moved@4"},
		{"a temporary redirect does not confirm", "a 301x 302x 301x", "live/1/new@1 live/1/new@1 live/1/new@1 live/1/new@1"},
		{"moved on", "a 301x 301x 301y 301y", "live/1/new@1 live/1/new@1 moved/1/moved@3 moved/1/moved@3 moved/1/moved@5"},
		{"moved and back", "a 301x 301x a", "live/1/new@1 live/1/new@1 moved/1/moved@3 live/1/changed@4"},
		{"moved, then gone", "a 301x 301x 404 404", "live/1/new@1 live/1/new@1 moved/1/moved@3 moved/1/moved@3 gone/1/gone@5"},
		{"noarchive from the start keeps history", "noarchive noarch-b", "live/1/new@1 live/2/changed@2"},
		{"noarchive later withdraws", "a noarchive noarch-b", "live/1/new@1 withdrawn/1/withdrawn@2 withdrawn/2/withdrawn@2"},
		{"noarchive lifted gives a body again", "a noarchive a", "live/1/new@1 withdrawn/1/withdrawn@2 live/2/changed@3"},
		{"withdrawn stays so when it ends", "a noarchive 404 404", "live/1/new@1 withdrawn/1/withdrawn@2 withdrawn/1/withdrawn@2 withdrawn/1/withdrawn@2"},
		{"withdrawn stays so when it moves", "a noarchive 301x 301x a", "live/1/new@1 withdrawn/1/withdrawn@2 withdrawn/1/withdrawn@2 withdrawn/1/withdrawn@2 live/2/changed@5"},
		{"a 304 may withdraw", "a 304-noarch 304 a", "live/1/new@1 withdrawn/1/withdrawn@2 withdrawn/1/withdrawn@2 live/2/changed@4"},
		{"withdrawn stays so by a 304", "a noarchive 304", "live/1/new@1 withdrawn/1/withdrawn@2 withdrawn/1/withdrawn@2"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			s := storetest.Open(t, storetest.Options(vfs.NewMem()))
			u := storetest.Parse(t, "http://page.test/")
			var got []string
			for i, name := range strings.Fields(test.visits) {
				f := &store.Fetched{URL: u, At: storetest.At(i), Outcome: store.OutcomeStored, Status: 200, Capture: store.Pointer{File: "f", Offset: int64(i), Length: 1}}
				visits[name](f)
				storetest.Commit(t, s, store.Fetch{Record: f})
				got = append(got, fate(t, s, u))
			}
			if diff := cmp.Diff(strings.Fields(test.want), got); diff != "" {
				t.Errorf("fates after %s (-want +got):\n%s", test.visits, diff)
			}
		})
	}
}

func redirect(f *store.Fetched, target string, permanent bool) {
	u, err := weburl.Parse(target)
	if err != nil {
		panic(err)
	}
	f.Outcome, f.Status, f.Redirect, f.Permanent = store.OutcomeRedirected, 302, u, permanent
}

// fate returns the fate of a page: state/versions/last change@record.
func fate(t *testing.T, s *store.Store, u weburl.URL) string {
	t.Helper()
	page, fp, err := s.PageOf(u)
	if err != nil {
		t.Fatal(err)
	}
	changes, err := s.Changes(storetest.Home(u), 0, 10)
	if err != nil {
		t.Fatal(err)
	}
	change := "-"
	for _, c := range changes {
		if c.Fingerprint != fp || c.Record != page.LastChange || len(changes) != 1 {
			t.Errorf("change log %v of a page with its last change at %d", changes, page.LastChange)
		}
		change = fmt.Sprintf("%v@%d", c.Kind, c.Record)
	}
	return fmt.Sprintf("%v/%d/%s", page.State, page.Versions, change)
}

// TestVisitsFold holds that the last 64 visits are kept and the older ones summed up.
func TestVisitsFold(t *testing.T) {
	s := storetest.Open(t, storetest.Options(vfs.NewMem()))
	u := storetest.Parse(t, "http://page.test/")
	const n = 70
	for i := range n {
		f := storetest.Status(u, i, 500)
		if i != 2 {
			f = store.Fetch{Record: &store.Fetched{URL: u, At: storetest.At(i), Outcome: store.OutcomeStored, Status: 200, BodyDigest: store.BodyDigest{byte(i / 2)}}}
		}
		storetest.Commit(t, s, f)
	}
	page, fp, err := s.PageOf(u)
	if err != nil {
		t.Fatal(err)
	}
	visits, err := s.Visits(storetest.Home(u), fp)
	if err != nil {
		t.Fatal(err)
	}
	if len(visits) != store.KeptVisits || visits[0].At != storetest.At(n-store.KeptVisits) || page.Visits != n {
		t.Errorf("%d visits kept from %d, %d in all; want %d from %d, %d in all", len(visits), visits[0].At, page.Visits, store.KeptVisits, storetest.At(n-store.KeptVisits), n)
	}
	// Folded: visits 0 to 5. Visit 2 failed. The contents are 0 0 - 1 2 2, so there are changes at 0, 3 and 4.
	minute := storetest.At(1) - storetest.At(0)
	want := store.Folded{Visits: 6, Complete: 5, Changes: 3, ElapsedNs: 5 * minute, ChangedNs: 3 * minute, First: storetest.At(0), Last: storetest.At(5)}
	if diff := cmp.Diff(want, page.Folded); diff != "" {
		t.Errorf("folded visits (-want +got):\n%s", diff)
	}
}
