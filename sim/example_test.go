package sim_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"time"

	"freshet/clock"
	"freshet/sim"
)

// The web's clock stands two days after its start. The example asks the web without a network, and asks for the truth
// about one of its pages.
func Example() {
	start := time.Date(2030, 5, 1, 0, 0, 0, 0, time.UTC)
	now := start.Add(48 * time.Hour)
	web, err := sim.NewWeb(sim.Config{Seed: 5, Sites: 3, Pages: 100, Start: start, Clock: clock.New(now, 0.001), Latency: -1, Bandwidth: -1})
	if err != nil {
		panic(err)
	}
	fmt.Println("hosts:", web.Hosts())
	fmt.Println("reachable:", len(web.Reachable(now)), "of", web.Pages(), "pages")

	home := web.Homes()[0]
	rec := httptest.NewRecorder()
	web.ServeHTTP(rec, httptest.NewRequest(http.MethodGet, home.String(), nil))
	version, _ := web.Truth(home, now)
	process, _ := web.Process(home)
	fmt.Println(home, rec.Code, "version", version, process.Kind)
	fmt.Println("a copy of the start is fresh:", web.Fresh(home, start, now))
	// Output:
	// hosts: [alder.test birch.test cedar.test]
	// reachable: 96 of 100 pages
	// http://alder.test/ 200 version 2 poisson
	// a copy of the start is fresh: false
}
