// Package importance owns the link graph and what follows from it.
//
// A Graph is a directed graph in compressed rows: the pages are numbers from 0, and of each there is a
// run of the numbers that it links to. It takes four bytes a link and four a page, so that a hundred
// million links fit half a gigabyte, and it is built once, by a Builder, page by page.
//
// A Ranker computes PageRank by power iteration over the links turned round, so that every page gathers its
// own rank and the processors share the pages; another four bytes a link. Iteration starts from ranks known
// before, where there are any, and surfers who follow no link may prefer some pages.
//
// Cash, the estimate of importance that a crawl keeps as it goes, is the frontier's: see its OPIC.
package importance
