package text_test

import (
	"fmt"
	"strings"
	"testing"
)

// post is the n-th post of a thread: who, when, and what in an element with the attributes.
func post(n int, attributes string) string {
	return fmt.Sprintf("<div class=comment><p>somebody %d</p><p>3 days ago</p><div %s><p>The %s opinion on lamps, which is a long one and that of nobody else here.</p></div></div>", n, attributes, name(n))
}

func opinions(n int) string {
	return fmt.Sprintf("The %s opinion on lamps, which is a long one and that of nobody else here.", name(n))
}

// TestThreadIsItsPosts reads threads whose posts have the markup of schema.org or of forum programs. Text around the
// posts is left out.
func TestThreadIsItsPosts(t *testing.T) {
	want := "Which lamp?\n" + opinions(1) + "\n" + opinions(2) + "\n" + opinions(3)
	for _, attributes := range []string{"itemprop=text", `class="bbWrapper wide"`, "class=cooked"} {
		thread := "<h1>Which lamp?</h1>" + post(1, attributes) + post(2, attributes) + post(3, attributes) + "<p>Similar threads and more of them"
		if got := read(t, thread, nil, false).Text; got != want {
			t.Errorf("%s: got %q", attributes, got)
		}
		// Some programs send the thread only to browsers without scripts.
		if got := read(t, "<p>Loading<noscript>"+thread+"</noscript>", nil, true).Text; got != want {
			t.Errorf("%s, without scripts: got %q", attributes, got)
		}
	}
	questions := `<div itemscope itemtype="https://schema.org/FAQPage"><p>We sell lamps.</p>` + post(1, "itemprop=text") + post(2, "itemprop=text") + "</div>"
	if got := read(t, questions, nil, false).Text; !strings.Contains(got, "We sell lamps") {
		t.Errorf("questions that are answered: got %q", got)
	}
}

// TestNameAroundEverything holds that a name excludes an element from the main text only if the element has a small
// part of the page's text.
func TestNameAroundEverything(t *testing.T) {
	var paragraphs strings.Builder
	for n := 1; n <= 20; n++ {
		fmt.Fprintf(&paragraphs, "<p>Paragraph %s says what there is to say about lamps and about the light of lamps.</p>", name(n))
	}
	for _, around := range []string{"<div class=with-sidebar>", "<form>", "<div class=widget-area>"} {
		got := parse(t, around+paragraphs.String()+"<div class=newsletter-box>Give us your address</div>").Main(nil)
		if strings.Count(got, "Paragraph") != 20 || strings.Contains(got, "address") {
			t.Errorf("%s: got %q", around, got)
		}
	}
}

// TestArticleIsReadByTheLibrary reads a page with an article and many teasers, once as what it says it is.
func TestArticleIsReadByTheLibrary(t *testing.T) {
	var page strings.Builder
	page.WriteString("<h1>On lamps</h1><article>")
	for n := 1; n <= 6; n++ {
		fmt.Fprintf(&page, "<p>Paragraph %s says at length what there is to say about lamps, and about the light that comes of lamps.</p>", name(n))
	}
	page.WriteString("</article><div class=more>")
	for n := 1; n <= 30; n++ {
		fmt.Fprintf(&page, "<div><h3>Teaser %s</h3><p>What another page says</p></div>", name(n))
	}
	whole := page.String()
	for what, page := range map[string]string{
		"an article":               `<meta property="og:type" content="article">` + whole,
		"one element that says so": whole,
	} {
		if got := read(t, page, nil, false).Text; strings.Contains(got, "Teaser") || strings.Count(got, "Paragraph") != 6 {
			t.Errorf("%s: got %q", what, got)
		}
	}
	for what, page := range map[string]string{
		"no element that says so": strings.ReplaceAll(whole, "article>", "section>"),
		"two":                     whole + "<article>The last of them</article>",
	} {
		if got := read(t, page, nil, false).Text; strings.Count(got, "Teaser") != 30 {
			t.Errorf("%s: got %q", what, got)
		}
	}
}
