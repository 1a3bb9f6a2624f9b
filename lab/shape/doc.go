// Package shape is the experiment that compares the synthetic webs with the real web: the links per page, the shares
// of repeats and of links within a site, and the distribution of in-degrees.
package shape
