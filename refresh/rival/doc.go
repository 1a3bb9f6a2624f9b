// Package rival implements the revisit rules of other crawlers, from their documentation, as policies of package
// refresh. The lab compares them with Freshet's own.
//
// Two choices favour the rivals. If no page is due, a rule takes the page that is due next, so it spends its whole
// budget. And Nutch's rule is repaired where it would make a page that never changes due at once.
package rival
