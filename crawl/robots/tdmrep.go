package robots

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strings"
	"unsafe"

	"freshet/consent"
	"freshet/weburl"
)

// MaxTDMRep is how many bytes of a tdmrep.json are read.
const MaxTDMRep = 64 << 10

// TDMRep is what a site's tdmrep.json says about text and data mining, as the TDM Reservation Protocol of the W3C's
// community group has it. It is immutable and safe for concurrent use; the zero value says nothing.
type TDMRep struct {
	rules []reservation
	bytes int64
}

// reservation is what is said of the pages that a pattern matches.
type reservation struct {
	pattern string // normalised
	ended   bool   // a $ stood behind it
	value   string // of tdm-reservation, as it is written
	policy  string // a URL, if there is one
}

// ParseTDMRep reads the first MaxTDMRep bytes of a tdmrep.json: an array of rules, or one rule alone. Rules before a
// fault in the JSON count. A rule without a location or a reservation is passed over. It takes time and memory in
// proportion to the file.
func ParseTDMRep(body []byte) *TDMRep {
	body = bytes.TrimPrefix(body, []byte("\xef\xbb\xbf"))
	body = bytes.TrimLeft(body[:min(len(body), MaxTDMRep)], " \t\r\n")
	d := json.NewDecoder(bytes.NewReader(body))
	if bytes.HasPrefix(body, []byte("[")) {
		_, _ = d.Token()
	}
	t := &TDMRep{}
	for d.More() {
		var raw json.RawMessage
		if d.Decode(&raw) != nil {
			break
		}
		if r, ok := readReservation(raw); ok {
			t.rules = append(t.rules, r)
			t.bytes += int64(len(r.pattern)+len(r.value)+len(r.policy)) + int64(unsafe.Sizeof(r))
		}
	}
	return t
}

// readReservation reads a rule; ok is false if it says nothing.
func readReservation(raw json.RawMessage) (r reservation, ok bool) {
	var told struct {
		Location    string          `json:"location"`
		Reservation json.RawMessage `json:"tdm-reservation"`
		Policy      any             `json:"tdm-policy"`
	}
	if json.Unmarshal(raw, &told) != nil || told.Location == "" {
		return r, false
	}
	r.value = strings.Trim(string(told.Reservation), `"`)
	r.value = strings.Clone(r.value[:min(len(r.value), consent.MaxValue)])
	r.policy, _ = told.Policy.(string)
	location := told.Location
	if location[0] != '/' && location[0] != '*' {
		location = "/" + location
	}
	location, r.ended = strings.CutSuffix(location, "$")
	r.pattern = string(normalise(nil, location, true))
	return r, r.value != ""
}

// Signals returns what the file says about the use of u: the first rule whose location matches its path and query.
func (t *TDMRep) Signals(u weburl.URL) (said consent.Signals) {
	if t == nil || len(t.rules) == 0 {
		return nil
	}
	target := targetOf(u.RequestURI())
	for _, r := range t.rules {
		if match(r.pattern, r.ended, target) {
			said = said.With(consent.TDMRep, consent.TDMReservation, r.value)
			return said.With(consent.TDMRep, consent.TDMPolicy, r.policy)
		}
	}
	return nil
}

// Bytes returns how much memory the rules take.
func (t *TDMRep) Bytes() int64 {
	if t == nil {
		return 0
	}
	return t.bytes
}

// TDMRepAt returns where a site's tdmrep.json lies.
func TDMRepAt(site weburl.Site) weburl.URL { return wellKnown(site, "/.well-known/tdmrep.json") }

// wellKnown returns the URL of a path of a site.
func wellKnown(site weburl.Site, path string) weburl.URL {
	u, err := site.Root().Parse(path)
	if err != nil {
		panic(fmt.Sprintf("robots: %s of %s: %v", path, site, err)) // a site is canonical
	}
	return u
}
