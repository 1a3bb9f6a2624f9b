// Package importance holds the link graph and computes PageRank.
//
// A Graph is a directed graph in compressed rows: pages are numbered from 0, and each has a run of the numbers of the
// pages that it links to. It takes four bytes per link and four per page: a hundred million links fit in half a
// gigabyte. A Builder builds it once, page by page.
//
// A Ranker computes PageRank by power iteration over the transposed graph: each page gathers its own rank, and the
// processors share the pages. The transposed graph takes another four bytes per link. Iteration can start from earlier
// ranks. The teleport vector can prefer some pages.
//
// Cash, the running estimate of importance during a crawl, is in package frontier: see OPIC there.
package importance
