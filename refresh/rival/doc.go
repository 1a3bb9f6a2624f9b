// Package rival describes again, from their documentation, how other crawlers choose when to visit a page
// again, as policies of package refresh: to be measured beside Freshet's own.
//
// They are read kindly. Each takes the page that is due soonest when none is due, so that it spends its
// whole budget, and Nutch's rule is repaired where it would make a page that never changes due at once.
package rival
