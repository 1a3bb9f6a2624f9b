package dashboard

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"
)

// refreshing is a Reader of a crawl that keeps pages fresh.
type refreshing struct {
	twice
	status string
}

func (r refreshing) Status() (any, error) { return json.RawMessage(r.status), nil }

// budgetSpent is the status of such a crawl, with the freshness of a site and what was spent in the last interval.
func budgetSpent(atS, fresh float64, last string) string {
	return fmt.Sprintf(`{"state":"crawling","duration_s":%v,"refresh":{"pages":9,"freshness":%[2]v,"interval_s":86400,"budget":100,
		"sites":{"http://a.test":{"pages":9,"freshness":%[2]v,"mean_age_s":7200}},"spent_last_interval":%s,
		"spent_in_interval":{"first_copies":4,"sites":{"http://new.test":4}}}}`, atS, fresh, last)
}

// TestWhereTheBudgetGoes shows what the requests of the last interval were for, and in the first interval those so far.
func TestWhereTheBudgetGoes(t *testing.T) {
	for last, want := range map[string][]string{
		`{}`: {"in this interval so far", "first copies", "100 %", "http://new.test"},
		`{"first_copies":10,"stored_pages":60,"sitemaps_and_feeds":5,"requisites":5,"retries":20,"sites":{"http://a.test":90,"http://b.test":10}}`: {
			"in the last 24h", "stored pages", "60 %", "retries", "20 %", "first copies", "10 %", "requisites", "http://a.test", "90 %", "http://b.test", "10 %"},
	} {
		_, body := get(t, Handler(Options{Reader: refreshing{status: budgetSpent(60, 0.9, last)}}), "/freshness")
		_, rest, _ := strings.Cut(strings.ReplaceAll(body, "<wbr>", ""), "Where the budget went")
		for _, text := range want {
			_, after, found := strings.Cut(rest, text)
			if !found {
				t.Fatalf("last %s: no %q, or not in this order, in\n%s", last, text, rest)
			}
			rest = after
		}
	}
	rows, err := Rows(strings.NewReader(budgetSpent(60, 0.9, `{"retries":2,"sites":{"http://a.test":2}}`)))
	if text := fmt.Sprint(rows); err != nil || !strings.Contains(text, "{refresh spent last interval retries 2}") || strings.Contains(text, "new.test") {
		t.Errorf("%v: %v", rows, err)
	}
}

// TestFreshnessOfSite draws the past of one site, and says why there is none of another.
func TestFreshnessOfSite(t *testing.T) {
	trend := NewTrend()
	var last string
	for i := range 3 * trendPoints {
		last = budgetSpent(float64(3600*i), 1-float64(i)/10000, `{}`)
		n, err := decodeNow([]byte(last))
		if err != nil {
			t.Fatal(err)
		}
		trend.note(n)
	}
	h := Handler(Options{Reader: refreshing{status: last}, Trend: trend})
	for target, want := range map[string][]string{
		"/freshness":                       {`<a href="/freshness?site=http%3a%2f%2fa.test">`, `class="course"`},
		"/freshness?site=http://a.test":    {"Freshness of http://a.test", "85.6 %", `aria-label="Copies estimated up to date: http://a.test 85.6 %"`, "Mean age of the copies: http://a.test 2h"},
		"/freshness?site=http://b.test/<b": {"Freshness of http://b.test/&lt;b", "This is not one of them"},
	} {
		response, body := get(t, h, target)
		body = strings.ReplaceAll(body, "<wbr>", "")
		for _, text := range want {
			if response.StatusCode != http.StatusOK || !strings.Contains(body, text) {
				t.Errorf("%s: %d, no %q in\n%s", target, response.StatusCode, text, body)
			}
		}
		if _, course, _ := strings.Cut(body, `class="course"`); strings.Count(course, "L") > 2*pastPoints {
			t.Errorf("%s: a small drawing has %d points", target, strings.Count(course, "L"))
		}
	}
}
