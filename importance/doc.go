// Package importance owns the link graph and what follows from it.
//
// A Graph is a directed graph in compressed rows: the pages are numbers from 0, and of each there is a
// run of the numbers that it links to. It takes four bytes a link and four a page, so that a hundred
// million links fit half a gigabyte, and it is built once, by a Builder, page by page.
package importance
