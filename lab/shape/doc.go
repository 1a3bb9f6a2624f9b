// Package shape is the experiment that measures the synthetic webs against the web that they imitate: how
// many links a page has, how many of them are repeats, how many stay on the site, and how unevenly links
// are received.
package shape
