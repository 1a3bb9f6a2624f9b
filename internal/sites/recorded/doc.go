// Package recorded writes the real sites as recorded webs, which the lab crawls in simulated time.
//
// There are two webs, with the same pages and links. In real-14, each of the fourteen manuals is a site. Manuals of
// different packages do not link to each other, so these sites do not compete. In real-split, every directory below the
// root of a manual is a site of its own, and so are the pages in the root together. Then a quarter of the links between
// pages leave their site, as in the open web. Its sites are in order of their manuals, from small to large. This order
// decides between sites of equal priority, and so what a single fetcher sees first.
//
// A page is a regular file *.html or *.htm; symbolic links are not followed. Its name is the URL under which package
// sites would serve it. It has the links that package extract finds, in order, including repeats and links to itself. A
// link to a directory counts as a link to its index.html. The target of any other link is a name that no page has: the
// file may be missing, may not be a page, or may be elsewhere.
//
// The speed of real sites is not recorded: latencies and rates are 0, and the lab draws them.
package recorded
