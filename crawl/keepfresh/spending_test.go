package keepfresh

import (
	"fmt"
	"testing"
	"time"

	"freshet/weburl"
)

// TestSpending holds what a pacer tells of the last interval and of this one, and that it names the largest of many
// sites, with counts that are low by a thousandth at most.
func TestSpending(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	p := NewPacer(1000, time.Hour, now)
	const requests, large = 60_000, 10
	of := map[string]int64{}
	for i := range requests {
		site := fmt.Sprintf("http://small%d.test", i)
		if i%4 == 0 {
			site = fmt.Sprintf("http://large%d.test", i/4%large)
			of[site]++
		}
		p.Spend(Purpose(i%5), weburl.Site(site), now)
	}
	if n := len(p.spent[1].Sites); n > countedSites {
		t.Errorf("%d sites are counted", n)
	}
	last, this := p.Spent(now)
	if want := int64(requests / 5); this.FirstCopies != want || this.StoredPages != want || this.Lists != want || this.Requisites != want || this.Retries != want || last.FirstCopies != 0 {
		t.Errorf("%+v, last %+v", this, last)
	}
	if len(this.Sites) > mostSpenders {
		t.Errorf("%d sites are named", len(this.Sites))
	}
	for site, n := range of {
		if got := this.Sites[site]; got > n || got < n-requests/1000 {
			t.Errorf("%s: %d of %d requests", site, got, n)
		}
	}
	now = now.Add(time.Hour)
	p.Spend(Retry, "http://a.test", now)
	if last, this := p.Spent(now); last.Retries != requests/5 || this.Retries != 1 || this.Sites["http://a.test"] != 1 || len(this.Sites) != 1 {
		t.Errorf("after an hour: %+v, last %+v", this, last)
	}
	if last, this := p.Spent(now.Add(3 * time.Hour)); last.Retries != 0 || this.Retries != 0 {
		t.Errorf("after three hours: %+v, last %+v", this, last)
	}
}
