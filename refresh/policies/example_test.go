package policies_test

import (
	"fmt"

	"freshet/refresh"
	"freshet/refresh/policies"
)

// A loop that lets a policy visit one page an hour. The page /news changes before every visit, /about never does.
func Example() {
	policy, err := policies.New("default", policies.Setting{Budget: 1. / 3600, Interval: 86400})
	if err != nil {
		panic(err)
	}
	paths := []string{"/news", "/about"}
	for id, path := range paths {
		policy.Add(refresh.ID(id), refresh.Page{Site: "https://example.org", Path: path, Weight: 1})
	}
	visits := map[string]int{}
	for hour := 1.; hour <= 24*30; hour++ {
		id, _, ok := policy.Next(hour * 3600)
		if !ok {
			continue
		}
		visit := refresh.Visit{At: hour * 3600, Outcome: refresh.Unchanged}
		if paths[id] == "/news" {
			visit.Outcome = refresh.Changed
		}
		policy.Visited(id, visit)
		visits[paths[id]]++
	}
	fmt.Println("visits:", visits["/news"]+visits["/about"])
	fmt.Println("more for /news:", visits["/news"] > 2*visits["/about"])
	// Output:
	// visits: 720
	// more for /news: true
}
