package robots_test

import (
	"fmt"

	"freshet/crawl/robots"
	"freshet/weburl"
)

func ExampleParse() {
	rules := robots.Parse([]byte("User-agent: *\nDisallow: /private/\nAllow: /private/map$\n"), "freshet")
	for _, raw := range []string{"https://example.com/private/x", "https://example.com/private/map"} {
		u, err := weburl.Parse(raw)
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(rules.Allowed(u), u)
	}
	// Output:
	// false https://example.com/private/x
	// true https://example.com/private/map
}
