package discovery

// Web is what is crawled. Pages and sites are numbered from 0, each site's pages in one run. Its
// methods are called from one goroutine and give the same answers every time.
type Web interface {
	Sites() int
	Pages() int
	// Range returns the numbers of a site's pages, first to end-1.
	Range(site uint32) (first, end uint32)
	// SiteOf returns the site that a page belongs to.
	SiteOf(page uint32) uint32
	// Home returns the page of a site that is known at the start; ok is false if none is.
	Home(site uint32) (page uint32, ok bool)
	// Server says how fast a site is.
	Server(site uint32) Server
	// Bytes returns the size of a page.
	Bytes(page uint32) float64
	// AppendLinks appends the pages that a page links to, each once, itself left out.
	AppendLinks(dst []uint32, page uint32) []uint32
	// Outside returns how many different URLs a page links to that are no pages of the web and would be crawled
	// all the same, such as pictures: a page's cash goes there too.
	Outside(page uint32) int
}

// Server is how a site answers.
type Server struct {
	Latency float64 // s before the first byte, once a connection
	Rate    float64 // bytes/s; 0 for no limit
}
