package weburl

import (
	"slices"
	"strings"
)

// SURT returns the sort-friendly form that CDXJ indexes are sorted by: the host's labels from right
// to left with commas between, so that a domain's hosts stand together, the port unless it is the
// scheme's own, ")", the path, and the query with its parameters sorted. The scheme and a leading
// "www.", "www2." and the like are left out, everything is in lower case and an empty query is
// dropped, as replay tools expect: "com,example)/path?a=1&b=2".
//
// It is a key to look up and sort by, not a name: different URLs can share one.
func (u URL) SURT() string {
	if u.text == "" {
		return ""
	}
	host, port := u.Site().split()
	labels := strings.Split(withoutWWW(host), ".")
	slices.Reverse(labels)

	var b strings.Builder
	b.Grow(len(u.text))
	b.WriteString(strings.Join(labels, ","))
	if port != "" {
		b.WriteString(":" + port)
	}
	b.WriteString(")" + strings.ToLower(u.Path()))
	if query := strings.ToLower(u.Query()); query != "" {
		parameters := strings.Split(query, "&")
		slices.Sort(parameters)
		b.WriteString("?" + strings.Join(parameters, "&"))
	}
	return b.String()
}

// withoutWWW drops a first label of "www" and digits, unless it is the only one.
func withoutWWW(host string) string {
	label, rest, _ := strings.Cut(host, ".")
	digits, ok := strings.CutPrefix(label, "www")
	if !ok || rest == "" || strings.Trim(digits, "0123456789") != "" {
		return host
	}
	return rest
}
