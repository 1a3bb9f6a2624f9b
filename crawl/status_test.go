package crawl

import (
	"reflect"
	"testing"
	"time"

	"freshet/crawl/keepfresh"
	"freshet/frontier"
	"freshet/store"
	"freshet/weburl"
)

// TestNextOfShards holds that a crawl's next request is the earliest of its shards' next requests.
func TestNextOfShards(t *testing.T) {
	soon, later := time.Unix(10, 0), time.Unix(20, 0)
	for _, test := range []struct{ one, other, want time.Time }{
		{time.Time{}, later, later}, {later, time.Time{}, later}, {soon, later, soon}, {later, soon, soon},
	} {
		if got := (Status{Next: test.one}).And(Status{Next: test.other}).Next; !got.Equal(test.want) {
			t.Errorf("%v and %v: %v: want %v", test.one, test.other, got, test.want)
		}
	}
}

// TestSpent says what a request of the budget is for by the page's row before it.
func TestSpent(t *testing.T) {
	w := newWorld(t)
	w.set("budget", "100", true)
	w.set("wait", "", true)
	w.open()
	live := func(row store.Page) store.Page {
		row.State, row.Versions = store.StateLive, 1
		return row
	}
	sitemap := store.Page{Rel: weburl.RelSitemap, ContentType: "application/xml"}
	for _, row := range []store.Page{
		{}, {Rel: weburl.RelSitemap}, live(store.Page{}), live(sitemap), {Rel: weburl.RelEmbed}, live(store.Page{Rel: weburl.RelEmbed}),
		{FailedInRow: 1}, live(store.Page{GoneSeen: 1}), {Rel: weburl.RelEmbed, FailedInRow: 1},
	} {
		w.shard.spend(&turn{page: frontier.Page{Site: "http://a.test"}, row: row})
	}
	_, this := w.shard.fresh.pacer.Spent(w.now)
	want := keepfresh.Spending{FirstCopies: 2, StoredPages: 1, Lists: 1, Requisites: 2, Retries: 3, Sites: map[string]int64{"http://a.test": 9}}
	if !reflect.DeepEqual(this, want) {
		t.Errorf("%+v, want %+v", this, want)
	}
}
