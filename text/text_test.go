package text_test

import (
	"context"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"
	"time"

	"freshet/text"
	"freshet/weburl"
)

// manual is page n of a site of documentation, which has navigation, a list of links beside the text, a footer and a
// line that tells when it was made.
func manual(n int) string {
	return fmt.Sprintf(`<!doctype html><html lang="en"><head><title>Command %[1]d — Manual</title></head><body>
<div class="top"><a href="/">Home</a> <a href="/all">All commands</a></div>
<div class="way"><a href="%[2]d.html">previous: command %[2]d</a></div>
<h1>Command %[1]d</h1>
<p>The command number %[3]s does what no other one can do for the people who have asked for it.</p>
<h2>See also</h2>
<ul><li><a href="/a">alpha%[3]s</a><li><a href="/b">beta%[3]s</a></ul>
<table><tr><td>Default:</td><td>none of %[3]s</td></tr></table>
<p>Whoever wants to know more about %[3]s may ask.</p>
<div class="foot"><p>Made by the writers of this manual, who are many, for everybody.</p>
<p class="when">Last modified on %[4]d November 2026</p></div></body></html>`, n, n-1, name(n), n%28+1)
}

// name makes a word of a number.
func name(n int) string {
	var b strings.Builder
	for ; n > 0; n /= 26 {
		b.WriteByte(byte('a' + n%26))
	}
	return "q" + b.String()
}

func parse(t testing.TB, document string) *text.Page {
	t.Helper()
	p, err := text.Parse("text/html; charset=utf-8", []byte(document), text.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func read(t testing.TB, document string, site *text.Site, markdown bool) text.Document {
	t.Helper()
	u, err := weburl.Parse("http://manual.test/1.html")
	if err != nil {
		t.Fatal(err)
	}
	e := text.NewExtractor(text.Limits{})
	defer e.Close()
	return e.Read(context.Background(), parse(t, document), u, site, markdown)
}

// TestWhatRepeatsIsLeftOut shows a site a sample of its pages and reads another: what all have is gone, what the page
// alone has is there.
func TestWhatRepeatsIsLeftOut(t *testing.T) {
	site := &text.Site{}
	for n := 1; n <= 40; n++ {
		site.Learn(parse(t, manual(n)))
	}
	d := read(t, manual(1000), site, true)
	want := "Command 1000\n" +
		"The command number " + name(1000) + " does what no other one can do for the people who have asked for it.\n" +
		"See also\nalpha" + name(1000) + "\nbeta" + name(1000) + "\nDefault:\nnone of " + name(1000) + "\n" +
		"Whoever wants to know more about " + name(1000) + " may ask."
	if d.Text != want || !d.Model {
		t.Errorf("got %q\nwant %q", d.Text, want)
	}
	if d.Title != "Command 1000 — Manual" && d.Title != "Command 1000" || d.Language != "en" {
		t.Errorf("title %q, language %q", d.Title, d.Language)
	}
	for _, part := range []string{"# Command 1000", "## See also", "[alpha" + name(1000) + "](http://manual.test/a)"} {
		if !strings.Contains(d.Markdown, part) {
			t.Errorf("no %q in %s", part, d.Markdown)
		}
	}
	for _, part := range []string{"All commands", "writers of this manual", "Last modified", "previous"} {
		if strings.Contains(d.Markdown, part) {
			t.Errorf("%q in %s", part, d.Markdown)
		}
	}
}

// TestBrief holds that Brief returns the same text as Read.
func TestBrief(t *testing.T) {
	site := &text.Site{}
	for n := 1; n <= 40; n++ {
		site.Learn(parse(t, manual(n)))
	}
	u, _ := weburl.Parse("http://manual.test/1.html")
	e := text.NewExtractor(text.Limits{})
	defer e.Close()
	for _, s := range []*text.Site{nil, site} {
		d, brief := read(t, manual(1000), s, false), e.Brief(context.Background(), parse(t, manual(1000)), u, s)
		if brief.Text != d.Text || brief.Language != d.Language || brief.Model != d.Model || !strings.Contains(brief.Title, "Command 1000") {
			t.Errorf("got %+v, read in full %+v", brief, d)
		}
	}
}

// BenchmarkBrief reads pages of 20 KB of a site that is known.
func BenchmarkBrief(b *testing.B) {
	site := &text.Site{}
	page := func(n int) []byte {
		var long strings.Builder
		for i := range 60 {
			fmt.Fprintf(&long, "<p>Section %d of command %s says <a href=/%d>what else</a> there is: %s", i, name(n), i, strings.Repeat(name(n*100+i)+" and its words, ", 12))
		}
		return []byte(strings.Replace(manual(n), "<h2>", long.String()+"<h2>", 1))
	}
	for n := 1; n <= 40; n++ {
		site.Learn(parse(b, string(page(n))))
	}
	u, _ := weburl.Parse("http://manual.test/1.html")
	e := text.NewExtractor(text.Limits{})
	defer e.Close()
	document := page(1000)
	b.SetBytes(int64(len(document)))
	for b.Loop() {
		p, err := text.Parse("text/html; charset=utf-8", document, text.Limits{})
		if err != nil {
			b.Fatal(err)
		}
		e.Brief(context.Background(), p, u, site)
	}
}

// TestMainVersion holds the digest to its version: values that are stored must not change.
func TestMainVersion(t *testing.T) {
	digest, ok := parse(t, manual(1)).MainDigest()
	const want = "daea68acbe91368a0c71ff169cb53de7" // of version 131
	if got := hex.EncodeToString(digest[:]); !ok || text.MainVersion != 131 || got != want {
		t.Errorf("version %d gives %s, %v: want %s", text.MainVersion, got, ok, want)
	}
	if _, ok := parse(t, "<nav>Home</nav>").MainDigest(); ok {
		t.Error("a page of navigation has a main text")
	}
}

// TestFewPagesSayNothing holds that a site is not believed before it has shown eight pages.
func TestFewPagesSayNothing(t *testing.T) {
	site := &text.Site{}
	for n := 1; n <= 7; n++ {
		site.Learn(parse(t, manual(n)))
	}
	if d := read(t, manual(1000), site, false); d.Model || !strings.Contains(d.Text, "does what no other one can do") {
		t.Errorf("%+v", d)
	}
}

// TestRowOfLinks holds that a bare row of links is no text of a page that has another, and the text of one that has
// none.
func TestRowOfLinks(t *testing.T) {
	const row = `<div><a href="/a">First part</a> | <a href="/b">Second part</a></div>`
	if d := read(t, "<p>What the page says, which is longer than its links are.</p>"+row, nil, false); strings.Contains(d.Text, "part") {
		t.Errorf("the row is text: %q", d.Text)
	}
	if d := read(t, row, nil, false); d.Text != "First part | Second part" {
		t.Errorf("nothing else is there, and the row is not text: %q", d.Text)
	}
}

// TestNumbersAreText shows a site pages that differ only in numbers, and reads another. Its numbers are text, unless
// they are in a line such as "Last modified".
func TestNumbersAreText(t *testing.T) {
	const (
		top  = `<nav><a href="/">Home</a></nav><div class="way"><a href="/%[1]d">day %[1]d</a></div>`
		foot = `<p>Published by the office of figures, with the help of many.</p><p class="when">Last modified on %[2]d.11.2026 at 12:%[2]d</p>`
	)
	rows := func(row string) (all string) {
		for _, grain := range []string{"Wheat", "Barley", "Rye", "Oats", "Maize", "Millet"} {
			all += strings.ReplaceAll(row, "NAME", grain)
		}
		return all
	}
	for kind, c := range map[string]struct{ page, want, gone string }{
		"sentences": {
			page: "<h1>Report of day %[1]d</h1><p>On this day %[1]d letters arrived, %[2]d more than on the day before.<p>Of these %[3]d were answered within an hour of their arrival." +
				"<p>The office has %[2]d clerks, of whom %[3]d were ill on this day or the one before." + foot,
			want: "On this day 1100 letters arrived, 17 more", gone: "Published by",
		},
		"one sentence": {
			page: "<p>On this day %[1]d letters arrived at the office.</p>" + foot,
			want: "On this day 1100 letters arrived", gone: "Published by",
		},
		"a sentence among others": {
			page: "<p>What nobody but NAME says is long enough to be the text of a page.</p><p>On this day %[1]d letters arrived at the office, %[2]d more than before.</p>" +
				"<p>What nobody but NAME adds is long enough, too.</p>" + foot,
			want: "On this day 1100 letters arrived at the office, 17 more", gone: "Last modified",
		},
		"prices": {
			page: "<h1>Prices</h1><ul>" + rows("<li>NAME: %[1]d.%[2]d euros for each of %[3]d sacks") + "</ul>" + foot,
			want: "Millet: 1100.17 euros for each of 70 sacks", gone: "Published by",
		},
		"a table": {
			page: "<h1>Harvest of %[1]d</h1><table>" + rows("<tr><td>NAME<td>%[1]d<td>%[2]d.%[3]d") + "</table>" + foot,
			want: "Millet\n1100\n17.70", gone: "Published by",
		},
		"a table at the top": {
			page: "<table>" + rows("<tr><td>NAME<td>%[1]d<td>%[2]d.%[3]d") + "</table><p>NAME wrote what stands here, and is alone with this." + foot,
			want: "1100\n17.70\nBarley", gone: "Published by",
		},
		"a stamp": {
			page: "<p>NAME wrote what stands here, and is alone with this, as a reader may find who has read it.</p>" + foot,
			want: "alone with this", gone: "Last modified",
		},
	} {
		page := func(n int) string {
			return fmt.Sprintf(strings.ReplaceAll(top+c.page, "NAME", name(n+1)), 1000+n, n%28+1, 30+n*7%60)
		}
		site := &text.Site{}
		for n := range 40 {
			site.Learn(parse(t, page(n)))
		}
		d := read(t, page(100), site, false)
		if !strings.Contains(d.Text, c.want) || strings.Contains(d.Text, c.gone) || strings.Contains(d.Text, "Home") || !d.Model {
			t.Errorf("%s: got %q: want %q, without %q", kind, d.Text, c.want, c.gone)
		}
	}
}

// TestTemplateIsLearnedAnew shows a site an old template, then many pages with only new blocks, and then a new
// template.
func TestTemplateIsLearnedAnew(t *testing.T) {
	site := &text.Site{}
	for n := range 400 {
		var b strings.Builder
		for i := range 200 {
			fmt.Fprintf(&b, "<p>%s and %s are words of this paragraph alone", name(n*1000+i), name(i*7919+n))
		}
		site.Learn(parse(t, "<p>The first line of a page that everybody sees and nobody reads.</p>"+b.String()))
	}
	d := read(t, "<p>The first line of a page that everybody sees and nobody reads.</p><p>But this line is new.", site, false)
	if d.Text != "But this line is new." {
		t.Errorf("got %q", d.Text)
	}
}

func TestPages(t *testing.T) {
	for name, test := range map[string]struct{ document, title, want string }{
		"white space":   {"<title> A\n B </title><p> one \n two<p>three", "A B", "one two\nthree"},
		"inline":        {"<p>on<b>e</b> <a href=x>two</a>", "", "one two"},
		"hidden":        {"<p>one<p hidden>two<p style='display: none'>three<p aria-hidden=true>four", "", "one"},
		"scripts":       {"<p>one<script>two</script><style>three</style><noscript>four</noscript>", "", "one"},
		"navigation":    {"<nav><p>menu</nav><p>one<footer>two</footer><div class=cookie-banner>three</div>", "", "one"},
		"nothing":       {"", "", ""},
		"not html":      {"<<<>", "", "<<<>"},
		"unclosed deep": {strings.Repeat("<div>", 400) + "deep", "", "deep"},
	} {
		d := read(t, test.document, nil, true)
		if d.Text != test.want || d.Title != test.title {
			t.Errorf("%s: %q, %q", name, d.Title, d.Text)
		}
	}
}

// TestPageInsideOfAForm reads a page in which no part looks like text: the library decides.
func TestPageInsideOfAForm(t *testing.T) {
	d := read(t, "<form><article>"+strings.Repeat("<p>The words of an article that its site has put into a form.</p>", 20)+"</article></form>", nil, false)
	if !strings.Contains(d.Text, "words of an article") {
		t.Errorf("got %q", d.Text)
	}
}

// TestFormattingLeftOpen reads 24 KB of a document in which hundreds of elements that format text are left open before
// thousands of paragraphs: each would hold them all, some two million nodes.
func TestFormattingLeftOpen(t *testing.T) {
	for _, around := range [][2]string{{"", ""}, {"<svg><title>", "</title></svg>"}, {"<object>", "</b></object>"}} {
		var b strings.Builder
		b.WriteString("<p>" + around[0])
		for i := range 480 {
			fmt.Fprintf(&b, "<b a%d>", i)
		}
		b.WriteString(around[1] + strings.Repeat("<p>x", 5000))
		p := parse(t, b.String())
		if n := p.Nodes(); n > 20_000 {
			t.Errorf("%q: %d nodes", around, n)
		}
	}
	d := read(t, "<title>The <b> element</title><p><B title='<i>'>Bold</B> and <i>slanted</i> text, x-b and &lt;x-b> too.", nil, true)
	if d.Title != "The <b> element" || !strings.Contains(d.Text, "Bold and slanted text, x-b and") || !strings.Contains(d.Markdown, "**Bold** and *slanted* text") {
		t.Errorf("%+v", d)
	}
}

// TestLimits holds that what exceeds a limit is cut and does no harm.
func TestLimits(t *testing.T) {
	long := strings.Repeat("<p>a paragraph of some words", 1000)
	p, err := text.Parse("text/html", []byte(long), text.Limits{Blocks: 10})
	if err != nil || strings.Count(p.Main(nil), "\n") != 9 {
		t.Errorf("%v: %q", err, p.Main(nil))
	}
	p, err = text.Parse("text/html", []byte(long), text.Limits{Bytes: 100})
	if err != nil || len(p.Main(nil)) > 100 {
		t.Errorf("%v: %q", err, p.Main(nil))
	}
}

// TestLibraryIsNotWaitedFor reads with a context that has ended: the blocks decide.
func TestLibraryIsNotWaitedFor(t *testing.T) {
	u, _ := weburl.Parse("http://manual.test/1.html")
	ctx, cancel := context.WithTimeout(context.Background(), -time.Second)
	defer cancel()
	e := text.NewExtractor(text.Limits{})
	defer e.Close()
	for range 10 {
		if d := e.Read(ctx, parse(t, manual(5)), u, nil, true); !strings.Contains(d.Text, "does what no other") {
			t.Errorf("%+v", d)
		}
	}
}

// TestLibraryIsAskedForEachPage reads pages whose text only the library finds, one after the other.
func TestLibraryIsAskedForEachPage(t *testing.T) {
	u, _ := weburl.Parse("http://manual.test/1.html")
	e := text.NewExtractor(text.Limits{})
	defer e.Close()
	document := "<form><article>" + strings.Repeat("<p>Some words of an article in a form.</p>", 10) + "</article></form>"
	for n := range 500 {
		if d := e.Read(context.Background(), parse(t, document), u, nil, false); !strings.Contains(d.Text, "words of an article") {
			t.Fatalf("page %d: got %q", n, d.Text)
		}
	}
}

// TestLanguage reads pages that say their language, truly or not.
func TestLanguage(t *testing.T) {
	const (
		english = "The river rises in the hills above the town, and whoever walks along its banks in spring will see that the water is brown. " +
			"In summer there is little of it, and children walk through the river with their shoes in their hands."
		finnish = "Joki alkaa kaupungin yläpuolella olevilta kukkuloilta, ja joka kävelee sen rannoilla keväällä, näkee että " +
			"vesi on ruskeaa. Kesällä vettä on vähän, ja lapset kulkevat joen yli kengät kädessä."
		german = "Der Fluss entspringt in den Hügeln über der Stadt, und wer im Frühling an seinen Ufern entlanggeht, sieht braunes Wasser. " +
			"Im Sommer ist nicht viel davon da, und die Kinder gehen mit den Schuhen in der Hand durch den Fluss."
	)
	for _, c := range []struct{ head, said, want string }{
		{`<html lang="en-GB">`, english, "en"},
		{`<html lang="en">`, finnish, "fi"},
		{`<html lang="en">`, german, "de"},
		{`<html lang="fi">`, finnish, "fi"},
		{`<html lang="de-AT">`, "Wien 1907", "de"},
		{`<html><meta http-equiv="Content-Language" content="de">`, "Wien 1907", "de"},
		{`<html>`, german, "de"},
		{`<html>`, "Wien 1907", ""},
		{`<html lang="english">`, "Wien 1907", ""},
	} {
		if d := read(t, c.head+"<body><p>"+c.said, nil, false); d.Language != c.want {
			t.Errorf("%s %.20s: %q, want %q", c.head, c.said, d.Language, c.want)
		}
	}
}

// TestSettle holds that a site that has settled leaves out what it left out before, and is small: a reader of thousands
// of sites that forgot them would learn them again and again.
func TestSettle(t *testing.T) {
	for _, pages := range []int{1, 3, 4, 8, 9, 48} {
		var site, settled text.Site
		for n := range pages {
			page := parse(t, manual(n)+strings.Repeat("<p>of one page: "+name(n+1)+" "+name(n+7)+"</p>", 5))
			site.Learn(page)
			settled.Learn(page)
		}
		settled.Settle()
		for _, n := range []int{0, 3, 100} {
			if got, want := parse(t, manual(n)).Main(&settled), parse(t, manual(n)).Main(&site); got != want || settled.Ripe() != site.Ripe() {
				t.Errorf("%d pages: page %d says %q: want %q", pages, n, got, want)
			}
		}
		if settled.Bytes() > 4<<10 {
			t.Errorf("%d pages: %d bytes", pages, settled.Bytes())
		}
	}
}

func TestShortTextsAreAlone(t *testing.T) {
	if got := group(t, []string{"not found", "not found"}); got[1] != 1 {
		t.Errorf("%v", got)
	}
}

// TestCharsets reads documents that declare their character set, do not, or declare a wrong one.
func TestCharsets(t *testing.T) {
	const want = "Grüße aus dem Süden"
	late := "<title>" + strings.Repeat("x", 2000) + "</title><p>"
	for _, c := range []struct{ name, contentType, document string }{
		{"UTF-8, undeclared, after its first KB", "text/html", late + want},
		{"UTF-8 that says Latin-1", "text/html", "<meta charset=iso-8859-1>" + late + want},
		{"Latin-1", "text/html; charset=iso-8859-1", "<p>Gr\xfc\xdfe aus dem S\xfcden"},
		{"Latin-1, undeclared", "text/html", late + "Gr\xfc\xdfe aus dem S\xfcden"},
		{"plain", "text/plain", want},
		{"plain Latin-1", "text/plain; charset=iso-8859-1", "Gr\xfc\xdfe aus dem S\xfcden"},
		{"plain UTF-16", "text/plain", "\xff\xfeG\x00r\x00\xfc\x00\xdf\x00e\x00 \x00a\x00u\x00s\x00 \x00d\x00e\x00m\x00 \x00S\x00\xfc\x00d\x00e\x00n\x00"},
	} {
		got := text.Plain(c.contentType, []byte(c.document)).Text
		if !strings.HasPrefix(c.contentType, "text/plain") {
			p, err := text.Parse(c.contentType, []byte(c.document), text.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			got = p.Main(nil)
		}
		if got != want {
			t.Errorf("%s: %q", c.name, got)
		}
	}
}

// TestControlCharacters holds that a page cannot steer the terminal of whoever reads its text.
func TestControlCharacters(t *testing.T) {
	const evil = "a\x1b]0;b\x07\u009b2Jc\x7f"
	const want = "a]0;b2Jc"
	p, err := text.Parse("text/html; charset=utf-8", []byte("<title>"+evil+"</title><meta name=author content='"+evil+"'><p>"+evil+"<p>a&#27;]0;b2Jc"), text.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	e := text.NewExtractor(text.Limits{})
	defer e.Close()
	html := e.Read(t.Context(), p, weburl.URL{}, nil, true)
	plain := text.Plain("text/plain; charset=utf-8", []byte(evil+"\n\t"+evil)).Called(evil, evil)
	if html.Title != want || html.Text != want+"\n"+want || plain.Title != want || plain.Byline != want || plain.Text != want+"\n\t"+want {
		t.Errorf("%+v\n%+v", html, plain)
	}
	for _, said := range []string{html.Byline, html.Markdown, plain.Markdown} {
		if strings.ContainsAny(said, "\x1b\x07\u009b\x7f") {
			t.Errorf("%q", said)
		}
	}
}

// TestDeep reads documents with more elements in each other than the parser takes.
func TestDeep(t *testing.T) {
	deep := func(tags, ends string) string {
		return "<p>before " + strings.Repeat(tags, 600) + "within" + strings.Repeat(ends, 600) + "<p>after"
	}
	for _, document := range []string{
		deep("<font>", ""), deep("<font>", "</font>"), deep("<div>", "</div>"), deep("<div class=x>", ""), deep("<div/>", ""), deep("<ul><li>", "</ul>"),
		deep(strings.Repeat("<div>", 200), ""), deep("<table><tr><td>", "</table>"), deep("<table><tr><td><li><p>", "</td></tr></table>"), deep("<span><x-y>", "</x-y></span>"), deep("<dl><dd>", "</dl>"),
	} {
		p, err := text.Parse("text/html", []byte(document), text.Limits{})
		if err != nil {
			t.Errorf("%.40q: %v", document, err)
			continue
		}
		if got := strings.Join(strings.Fields(p.Main(nil)), " "); got != "before within after" && got != "before withinafter" {
			t.Errorf("%.40q: %q", document, got)
		}
	}
}

// TestTables holds that a table costs its Markdown little more than its bytes, and stays one unless it is vast.
func TestTables(t *testing.T) {
	cell := "<td>" + strings.Repeat("long ", 20_000)
	for _, c := range []struct {
		document string
		tables   bool
	}{
		{"<table><tr><th>one<th>two<tr><td colspan=2>three<tr><td rowspan=70000>four<td>five<tr><td>six</table>", true},
		{"<table><tr><th>one<th>two<tr>" + cell + strings.Repeat("<tr><td>x<td>y", 2000) + "</table>", true},
		{"<table><tr><td colspan=100000 rowspan=100000>one<tr><td>two</table>", true},
		{"<table>" + strings.Repeat("<tr><td colspan=1000>one", 1000) + "</table>", false},
		{"<table>" + strings.Repeat("<tr><td rowspan=999999999>one", 1000) + "</table>", false},
		{"<table><tr>" + strings.Repeat("<td>x", 5000) + strings.Repeat("<tr><td>one", 5000) + "</table>", false},
	} {
		e := text.NewExtractor(text.Limits{})
		p, err := text.Parse("text/html", []byte(c.document), text.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		u, _ := weburl.Parse("http://h.test/")
		d := e.Read(t.Context(), p, u, nil, true)
		e.Close()
		if len(d.Markdown) > 20*len(c.document)+20_000 || strings.Contains(d.Markdown, "|--") != c.tables || !strings.Contains(d.Markdown, "one") {
			t.Errorf("%.60q: %d bytes of Markdown for %d of HTML: %.200q", c.document, len(d.Markdown), len(c.document), d.Markdown)
		}
	}
}

// TestTimeOfMarkdown holds that a page whose Markdown takes too long has its text instead.
func TestTimeOfMarkdown(t *testing.T) {
	p := parse(t, "<p>"+strings.Repeat("word<wbr> ", 5000))
	u, _ := weburl.Parse("http://h.test/")
	e := text.NewExtractor(text.Limits{})
	defer e.Close()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if d := e.Read(ctx, p, u, nil, true); d.Markdown != d.Text || !strings.HasPrefix(d.Text, "word word") {
		t.Errorf("%.60q of %.60q", d.Markdown, d.Text)
	}
}

// TestPieces holds how pieces of pages are read, also where the library reads the page: an article.
func TestPieces(t *testing.T) {
	long := strings.Repeat("What the page says in a sentence. ", 12)
	for _, c := range []struct {
		name, html  string
		want, never string // lines of the text
		article     bool
	}{
		{"furigana", `<p>漢字を<ruby>明<rp>(</rp><rt>あ</rt><rp>)</rp>日<rt>す</rt></ruby>読む</p>`, "漢字を明日読む", "あ", false},
		{"soft hyphens", `<p>Die Bundes&shy;regierung und Zero&#8203;width</p>`, "Die Bundesregierung und Zerowidth", "\u00ad", false},
		{"links to headings", `<h2>Title<a href="#title">¶</a></h2><dl><dt>func(x)<a href="#f">#</a><dd>does</dl>`, "Title\nfunc(x)\ndoes", "¶", false},
		{"links to notes", `<p>It is so<a href="#n1">[1]</a></p>`, "It is so[1]", "", false},
		{"edit links", `<h2>Life<span class="mw-editsection"><span>[</span><a href="/e">edit</a><span>]</span></span></h2>`, "Life", "edit", false},
		{"questions", `<h3><button>Why is it so?</button></h3><div>Because.</div><button>Send</button>`, "Why is it so?\nBecause.", "Send", false},
		{"open anchors", `<p>Before.<a name="x" /></p><p>Behind the anchor.</p><p>And more.</p>`, "Before.\nBehind the anchor.\nAnd more.", "", false},
		{"forms", `<textarea>typed</textarea><datalist><option>offered</datalist><p>Text.</p>`, "Text.", "typed", false},
		{"blocks of an article", `<h2>Part</h2><p>One <b>bold</b> word.</p><ul><li>first<li>second</ul><pre>a` + "\n" + `  b</pre>`,
			"Part\nOne bold word.\nfirst\nsecond\na\n  b", "", true},
		{"behind a time", `<p>On <time datetime="2026-01-02">2 January</time>, it was said to be so.</p>`, "On 2 January, it was said to be so.", "", true},
		{"behind elements without text", `<p>A <picture><img src="a"></picture> picture, a <label>x</label> label.</p>`, "A picture, a label.", "", true},
	} {
		document := "<title>T</title><body><div><p>" + long + "</p>" + c.html + "<p>" + long + "</p></div>"
		if c.article {
			document = strings.NewReplacer("<div>", "<article>", "</div>", "</article>").Replace(document)
		}
		d := read(t, document, nil, false)
		whole := strings.TrimSpace(long) + "\n" + c.want + "\n" + strings.TrimSpace(long)
		if d.Text != whole || c.never != "" && strings.Contains(d.Text, c.never) {
			t.Errorf("%s: got %q, want %q", c.name, strings.ReplaceAll(d.Text, long, "…"), c.want)
		}
	}
}

// TestCodeOfArticle holds that code in an article is a block of code in its Markdown.
func TestCodeOfArticle(t *testing.T) {
	long := "<p>" + strings.Repeat("What the page says in a sentence. ", 12) + "</p>"
	d := read(t, "<article>"+long+"<pre><code>one\n  two</code></pre><pre>three\n  four</pre>"+long+"</article>", nil, true)
	if !strings.Contains(d.Markdown, "```\none\n  two\n```") || !strings.Contains(d.Markdown, "```\nthree\n  four\n```") {
		t.Error(d.Markdown)
	}
}

// TestUntitled holds that a page without a title has its author and date.
func TestUntitled(t *testing.T) {
	d := read(t, `<meta name="author" content="Ada Lovelace"><meta property="article:published_time" content="2026-03-02">
		<body><p>`+strings.Repeat("What the page says. ", 30)+`</p></body>`, nil, false)
	if d.Byline != "Ada Lovelace" || d.Date.Format(time.DateOnly) != "2026-03-02" {
		t.Errorf("by %q, %v", d.Byline, d.Date)
	}
}

func FuzzRead(f *testing.F) {
	f.Add([]byte(manual(3)), "text/html")
	f.Add([]byte("<table><a><pre>\n<li><select><math><mi></svg>"), "text/html; charset=utf-16")
	site := &text.Site{}
	for n := 1; n <= 10; n++ {
		site.Learn(parse(f, manual(n)))
	}
	u, _ := weburl.Parse("http://manual.test/1.html")
	f.Fuzz(func(t *testing.T, document []byte, contentType string) {
		e := text.NewExtractor(text.Limits{Nodes: 1000})
		defer e.Close()
		for _, s := range []*text.Site{nil, site} {
			p, err := text.Parse(contentType, document, text.Limits{})
			if err != nil {
				return
			}
			said := p.Main(s)
			if d := e.Read(context.Background(), p, u, s, true); s != nil && d.Text != said {
				t.Errorf("%q, then %q", said, d.Text)
			}
			text.Sign(said)
		}
	})
}
