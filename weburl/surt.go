package weburl

import "strings"

// SURT returns the sort-friendly form.
func (u URL) SURT() string {
	labels := strings.Split(u.Host(), ".")
	for i, j := 0, len(labels)-1; i < j; i, j = i+1, j-1 {
		labels[i], labels[j] = labels[j], labels[i]
	}
	return strings.Join(labels, ",") + ")" + u.RequestURI()
}
