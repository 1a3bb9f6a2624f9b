package discovery

// Web is the web to crawl. Pages and sites are numbered from 0; the pages of a site have consecutive numbers. Its
// methods are called from one goroutine and always return the same.
type Web interface {
	Sites() int
	Pages() int
	// Range returns the numbers of a site's pages, first to end-1.
	Range(site uint32) (first, end uint32)
	// SiteOf returns the site that a page belongs to.
	SiteOf(page uint32) uint32
	// Home returns the page of a site that is known at the start; ok is false if none is.
	Home(site uint32) (page uint32, ok bool)
	// Server returns the speed of a site.
	Server(site uint32) Server
	// Bytes returns the size of a page.
	Bytes(page uint32) float64
	// AppendLinks appends the pages that a page links to, each once, without itself.
	AppendLinks(dst []uint32, page uint32) []uint32
	// Outside returns how many different URLs a page links to that are not pages of the web but would be crawled,
	// such as pictures. They get a share of the page's cash.
	Outside(page uint32) int
}

// Server is the speed of a site.
type Server struct {
	Latency float64 // s before the first byte, once a connection
	Rate    float64 // bytes/s; 0 for no limit
}
