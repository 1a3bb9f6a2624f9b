package adversary

import (
	"fmt"
	"strings"
)

const (
	honestName = "honest"
	fanOut     = 5  // children of a page in the tree of an honest host
	paragraphs = 12 // of an honest page, some 4 KiB
)

// honestKind is a host of that many pages, a tree.
func honestKind(pages int) Kind {
	return Kind{Name: honestName, Attacks: "nothing", setUp: func(h *Host) {
		h.answers = func(x *exchange) bool {
			number, ok := pageNumber(x.path, pages)
			if !ok {
				return x.say(status(404))
			}
			return x.say(html(HonestPage(h.Name, number, pages)))
		}
	}}
}

// HonestPath returns the path of an honest host's page.
func HonestPath(number int) string {
	if number == 0 {
		return "/"
	}
	return fmt.Sprintf("/page/%d", number)
}

func pageNumber(path string, pages int) (number int, ok bool) {
	if path == "/" {
		return 0, true
	}
	_, err := fmt.Sscanf(path, "/page/%d", &number)
	return number, err == nil && number > 0 && number < pages && path == HonestPath(number)
}

// HonestPage returns the content of an honest host's page, without the doctype.
func HonestPage(host string, number, pages int) string {
	var b strings.Builder
	fmt.Fprintf(&b, "<title>Page %d of %s</title>", number, host)
	for i := range paragraphs {
		fmt.Fprintf(&b, "<p>Paragraph %d of page %d: %s", i, number, strings.Repeat(fmt.Sprintf("%s says what it has to say of %d. ", host, number+i), 6))
	}
	for child := number*fanOut + 1; child <= number*fanOut+fanOut && child < pages; child++ {
		fmt.Fprintf(&b, "<a href=%s>page %d</a> ", HonestPath(child), child)
	}
	return b.String()
}
