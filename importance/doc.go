// Package importance owns the link graph and computes PageRank.
//
// A Graph is a directed graph in compressed rows: pages are numbers from 0, and each has a run of the numbers of the
// pages that it links to. It takes four bytes a link and four a page, so that a hundred million links fit half a
// gigabyte, and it is built once, by a Builder, page by page.
//
// A Ranker computes PageRank by power iteration over the links turned round, so that every page gathers its own rank
// and the processors share the pages; this takes another four bytes a link. Iteration starts from earlier ranks if
// there are any. A surfer who follows no link may prefer some pages.
//
// Cash, the estimate of importance that a crawl keeps as it goes, is the frontier's: see its OPIC.
package importance
