// Package recorded makes the real sites into recorded webs, which the lab crawls in simulated time.
//
// There are three, of the same pages and links. In real-14 each of the fourteen manuals is a site; as
// manuals of different packages do not link to each other, these do not compete. In real-split every
// directory below a manual's root is a site of its own, and so are the pages in the root together: then a
// quarter of the links between pages leave their site, as in the open web. Its sites stand from the small
// manual to the large, which decides between equal ones, and so what one fetcher sees first.
//
// A page is a regular file *.html or *.htm; symbolic links are not followed. It has the name under which
// package sites would serve it, and carries what package extract finds in it, repeats and links to itself
// included, in order. A link to a directory counts as one to its index.html. What is not there, is no page
// or lies elsewhere is a name like any other, that no page has.
//
// How fast real sites would answer is not recorded: latencies and rates are 0, and the lab draws them.
package recorded
