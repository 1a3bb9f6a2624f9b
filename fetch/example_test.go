package fetch_test

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/netip"

	"freshet/clock"
	"freshet/fetch"
	"freshet/weburl"
)

func Example() {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "hello, %s", r.Host)
	}))
	defer server.Close()

	f, err := fetch.New(fetch.Options{
		Clock:        clock.Real(),
		UserAgent:    "freshet/1.0 (+https://example.org/bot)",
		Resolve:      map[string]netip.AddrPort{"example.com": netip.MustParseAddrPort(server.Listener.Addr().String())},
		AllowPrivate: true,
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer f.Close()

	u, err := weburl.Parse("http://example.com/")
	if err != nil {
		fmt.Println(err)
		return
	}
	r := f.Fetch(context.Background(), fetch.Request{URL: u})
	defer r.Drop()
	fmt.Println(r.Outcome, r.Status, string(r.Body()))
	// Output: answered 200 hello, example.com
}
