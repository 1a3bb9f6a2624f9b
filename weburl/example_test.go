package weburl_test

import (
	"fmt"

	"freshet/weburl"
)

func Example() {
	page, err := weburl.Parse("HTTP://www.Example.org:80/rivers/./index.html#top")
	if err != nil {
		fmt.Println(err)
		return
	}
	link, err := page.Parse("../maps/?river=Isère&year=2004")
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(page)
	fmt.Println(link)
	fmt.Println(link.Site(), link.Domain(), link.Fingerprint(), link.Partition(64))
	fmt.Println(link.SURT())
	// Output:
	// http://www.example.org/rivers/index.html
	// http://www.example.org/maps/?river=Is%C3%A8re&year=2004
	// http://www.example.org example.org 9cc59c6de6747082 5
	// org,example)/maps/?river=is%c3%a8re&year=2004
}
