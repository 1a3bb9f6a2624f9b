package extract_test

import (
	"fmt"
	"net/http"

	"freshet/extract"
	"freshet/weburl"
)

func Example() {
	answered, err := weburl.Parse("https://example.org/news/today.html")
	if err != nil {
		panic(err)
	}
	header := http.Header{"Content-Type": {"text/html; charset=utf-8"}}
	body := []byte(`<title>Today</title><meta name="robots" content="noarchive">
		<img src="river.jpg"> It rains. <a href="../about#us" rel="nofollow">About</a>`)

	page := extract.NewParser(extract.Options{}).Extract(header, body, answered)
	fmt.Println(page.Title, page.NoArchive)
	for _, l := range page.Links {
		fmt.Println(l.Rel, l.URL, l.NoFollow)
	}
	// Output:
	// Today true
	// embed https://example.org/news/river.jpg false
	// anchor https://example.org/about true
}
