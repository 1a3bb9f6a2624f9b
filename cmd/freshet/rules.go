package main

import (
	"bufio"
	"bytes"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/netip"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"golang.org/x/net/http/httpguts"

	"freshet/cmd/freshet/command"
	"freshet/crawl"
	"freshet/fetch"
	"freshet/frontier"
	"freshet/node"
	"freshet/weburl"
)

// Two files say what to crawl and how: rules (YAML, --scope FILE) and opt-outs (one pattern per line, --opt-out
// FILE). docs/how-to/scope.md shows both. They are read at the start and at every reload. A file with a fault is
// refused as a whole. The error has every fault with its line, and for an unknown key the nearest known one.

// rulesRead is the content of the two files.
type rulesRead struct {
	scope string // the scope that the file names for seeds, or that of --scope
	rules node.Rules
	lines []string // the content, one statement per line, without credentials, to show changes of a reload
}

// maxRules bounds a file of rules or opt-outs, in bytes: a million hosts.
const maxRules = 64 << 20

// readRules reads the files. scope is a scope's name or a file of rules; optOut may be empty.
func readRules(scope, optOut string) (*rulesRead, error) {
	r := &rulesRead{scope: scope}
	var faults []error
	if _, err := frontier.ParseScope(scope); err != nil {
		text, err := readWhole(scope, maxRules)
		if err != nil {
			return nil, fmt.Errorf("--scope: %w", err)
		}
		r.scope = "site"
		faults = append(faults, r.parse(scope, text))
	}
	if optOut != "" {
		text, err := readWhole(optOut, maxRules)
		if err != nil {
			return nil, fmt.Errorf("--opt-out: %w", err)
		}
		faults = append(faults, r.parseOptOuts(optOut, text))
	}
	return r, errors.Join(faults...)
}

func readWhole(file string, limit int64) ([]byte, error) {
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err == nil && int64(len(text)) > limit {
		err = fmt.Errorf("%s: longer than %d bytes", file, limit)
	}
	return text, err
}

func (r *rulesRead) say(format string, args ...any) {
	r.lines = append(r.lines, fmt.Sprintf(format, args...))
}

// parseOptOuts reads one pattern per line; # begins a comment.
func (r *rulesRead) parseOptOuts(file string, text []byte) error {
	var faults []error
	var list []frontier.Pattern
	lines := bufio.NewScanner(bytes.NewReader(text))
	lines.Buffer(nil, 1<<20)
	for number := 1; lines.Scan(); number++ {
		line, _, _ := strings.Cut(lines.Text(), " #")
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		pattern, err := frontier.ParsePattern(line)
		if err != nil {
			faults = append(faults, fmt.Errorf("%s:%d: %w", file, number, err))
			continue
		}
		list = append(list, pattern)
		r.say("opt-out %s", pattern)
	}
	r.rules.URLs.OptOut = frontier.NewPatterns(list)
	return errors.Join(append(faults, lines.Err())...)
}

// parse reads a file of rules.
func (r *rulesRead) parse(file string, text []byte) error {
	tree, err := parseYAML(file, text)
	if err != nil {
		return err
	}
	pairs, err := mapping(tree, file)
	if err != nil {
		return err
	}
	var include, exclude []frontier.Pattern
	err = set(r.keys(&include, &exclude), file, pairs)
	r.rules.URLs.Include, r.rules.URLs.Exclude = frontier.NewPatterns(include), frontier.NewPatterns(exclude)
	return err
}

// keys are the keys of a file of rules.
func (r *rulesRead) keys(include, exclude *[]frontier.Pattern) []key {
	return []key{
		{"seeds", "what a seed adds to the crawl: page, site, domain or any", func(v value) error {
			name, err := v.one()
			if err == nil {
				_, err = frontier.ParseScope(name)
			}
			r.scope = name
			r.say("seeds %s", name)
			return err
		}},
		{"include", "patterns of further URLs of the crawl", patternsInto(r, "include", include)},
		{"exclude", "patterns of URLs outside of the crawl", patternsInto(r, "exclude", exclude)},
		{"sites", "rules for sites, in order: a later one overrides", func(v value) error { return r.parseSites(v) }},
	}
}

func patternsInto(r *rulesRead, word string, list *[]frontier.Pattern) func(value) error {
	return func(v value) error {
		texts, err := scalars(v.node)
		if err != nil {
			return err
		}
		var faults []error
		for _, text := range texts {
			pattern, err := frontier.ParsePattern(text)
			faults = append(faults, err)
			*list = append(*list, pattern)
			r.say("%s %s", word, pattern)
		}
		return errors.Join(faults...)
	}
}

// key is one key of a file of rules.
type key struct {
	name, help string
	set        func(value) error
}

// value is the value of a key.
type value struct {
	file string
	node ast.Node
}

// one returns the text of a scalar, or an error if there are several.
func (v value) one() (string, error) {
	texts, err := scalars(v.node)
	if err == nil && len(texts) != 1 {
		err = fmt.Errorf("want one value, not %d", len(texts))
	}
	if err != nil {
		return "", err
	}
	return texts[0], nil
}

// set sets the keys of a mapping. Its error lists every fault with its line.
func set(keys []key, file string, pairs []*ast.MappingValueNode) error {
	var names []string
	for _, k := range keys {
		names = append(names, k.name)
	}
	var faults []error
	for _, pair := range pairs {
		where := fmt.Sprintf("%s:%d", file, pair.Key.GetToken().Position.Line)
		name := pair.Key.GetToken().Value
		i := slices.Index(names, name)
		if i < 0 {
			faults = append(faults, fmt.Errorf("%s: unknown key %q%s", where, name, meant(name, names)))
			continue
		}
		if err := keys[i].set(value{file, pair.Value}); err != nil {
			faults = append(faults, prefixed(where+": "+name+": ", err))
		}
	}
	return errors.Join(faults...)
}

// prefixed puts a place before an error's text, unless its lines already have places.
func prefixed(where string, err error) error {
	if placed.MatchString(err.Error()) {
		return err
	}
	return fmt.Errorf("%s%w", where, err)
}

var placed = regexp.MustCompile(`^[^:\n]+:[1-9][0-9]*: `)

// meant suggests the nearest right name.
func meant(name string, names []string) string {
	if near := command.Nearest(name, names); near != "" {
		return fmt.Sprintf(" (did you mean %q?)", near)
	}
	return ""
}

// parseSites reads the list of rules for sites.
func (r *rulesRead) parseSites(v value) error {
	list, ok := v.node.(*ast.SequenceNode)
	if !ok {
		return errors.New("want a list, a mapping for each")
	}
	var faults []error
	for _, item := range list.Values {
		where := fmt.Sprintf("%s:%d: ", v.file, item.GetToken().Position.Line)
		var pairs []*ast.MappingValueNode
		switch m := item.(type) {
		case *ast.MappingNode:
			pairs = m.Values
		case *ast.MappingValueNode:
			pairs = []*ast.MappingValueNode{m}
		default:
			faults = append(faults, errors.New(where+"sites: want a mapping"))
			continue
		}
		var matches []frontier.Pattern
		var rule node.SiteRule
		if err := set(siteKeys(&matches, &rule), v.file, pairs); err != nil {
			faults = append(faults, err)
			continue
		}
		if len(matches) == 0 {
			faults = append(faults, errors.New(where+"sites: no match: say which sites are meant"))
			continue
		}
		for _, match := range matches {
			rule.Match = match
			r.rules.Sites = append(r.rules.Sites, rule)
			r.saySite(match, pairs)
		}
	}
	return errors.Join(faults...)
}

// saySite adds the lines of a site's rules, without secrets.
func (r *rulesRead) saySite(match frontier.Pattern, pairs []*ast.MappingValueNode) {
	for _, pair := range pairs {
		name := pair.Key.GetToken().Value
		texts, _ := scalars(pair.Value) // it was read before
		switch name {
		case "match":
			continue
		case "credentials", "headers", "proxy":
			texts = []string{"[hidden]"}
		}
		r.say("site %s: %s %s", match, name, strings.Join(texts, ", "))
	}
}

// siteKeys returns the keys of the rules for sites.
func siteKeys(matches *[]frontier.Pattern, rule *node.SiteRule) []key {
	return []key{
		{"match", "which sites: *, HOST, .DOMAIN or https://HOST:PORT, or several of these", func(v value) error {
			texts, err := scalars(v.node)
			if err != nil {
				return err
			}
			for _, text := range texts {
				pattern, err := frontier.ParsePattern(text)
				if err == nil && !pattern.NamesSites() {
					err = fmt.Errorf("%q names pages: want *, HOST, .DOMAIN or a site", text)
				}
				if err != nil {
					return err
				}
				*matches = append(*matches, pattern)
			}
			return nil
		}},
		{"delay", "instead of --delay (time)", func(v value) error {
			var d command.Duration
			if err := v.flag(&d); err != nil {
				return err
			}
			delay := time.Duration(d)
			rule.Manners.Delay = &delay
			return nil
		}},
		{"budget", "fetches a day at most, spread evenly over the hours (fetches)", func(v value) error { return numberInto(&rule.Manners.Budget)(v) }},
		{"hours", "the only hours for requests: 22:00-06:00 Europe/Berlin (times of day, zone)", func(v value) error {
			text, err := v.one()
			if err == nil {
				rule.Manners.Hours, err = frontier.ParseHours(text)
			}
			return err
		}},
		{"pages", "instead of --pages-per-site (pages)", func(v value) error {
			var n int
			err := numberInto(&n)(v)
			rule.Pages = int64(n)
			return err
		}},
		{"depth", "instead of --max-depth (links)", func(v value) error { return numberInto(&rule.Depth)(v) }},
		{"headers", "sent with every request: NAME: VALUE, or several", headersInto(rule)},
		{"credentials", "USER:PASSWORD, or Bearer TOKEN; sent, but never stored", func(v value) error {
			text, err := v.one()
			if err != nil {
				return errors.New("want USER:PASSWORD or Bearer TOKEN") // without the text, which is secret
			}
			authorization, isBearer := strings.CutPrefix(text, "Bearer ")
			if authorization = "Bearer " + authorization; !isBearer {
				authorization = "Basic " + base64.StdEncoding.EncodeToString([]byte(text))
			}
			if !isBearer && !strings.Contains(text, ":") || !httpguts.ValidHeaderFieldValue(authorization) {
				return errors.New("want USER:PASSWORD or Bearer TOKEN")
			}
			addHeader(rule, "Authorization", authorization)
			return nil
		}},
		{"proxy", "http://HOST:PORT or socks5://HOST:PORT, with USER:PASSWORD@ before HOST", func(v value) error {
			text, err := v.one()
			if err == nil {
				rule.Route.Proxy, err = fetch.ParseProxy(text)
			}
			return err
		}},
		{"bind", "local address of connections", func(v value) error {
			text, err := v.one()
			if err == nil {
				rule.Route.Bind, err = netip.ParseAddr(text)
			}
			return err
		}},
		{"bandwidth", "limit of what all of them send, as --bandwidth (bytes a second, by hours)", func(v value) error { return paceInto(&rule.In)(v) }},
		{"bandwidth-out", "limit of what is sent to all of them (bytes a second, by hours)", func(v value) error { return paceInto(&rule.Out)(v) }},
		{"fetch", "content types whose bodies are read: text/*, application/pdf (media types)", func(v value) error { return typesInto(&rule.Fetch)(v) }},
		{"store", "content types that WARC files keep (media types)", func(v value) error { return typesInto(&rule.Store)(v) }},
		{"refresh", "content types that are fetched again (media types)", func(v value) error { return typesInto(&rule.Refresh)(v) }},
	}
}

// flag parses one text by a flag's Set.
func (v value) flag(f interface{ Set(string) error }) error {
	text, err := v.one()
	if err != nil {
		return err
	}
	return f.Set(text)
}

func numberInto(n *int) func(value) error {
	return func(v value) error {
		text, err := v.one()
		if err == nil {
			err = wholeFrom(1)(text)
		}
		if err == nil {
			*n, err = strconv.Atoi(text)
		}
		return err
	}
}

func paceInto(pace **fetch.Pace) func(value) error {
	return func(v value) error {
		var b bandwidth
		if err := v.flag(&b); err != nil {
			return err
		}
		*pace = b.pace()
		return nil
	}
}

func typesInto(types *crawl.ContentTypes) func(value) error {
	return func(v value) error {
		texts, err := scalars(v.node)
		if err != nil {
			return err
		}
		for _, text := range texts {
			if !mediaType.MatchString(text) {
				return fmt.Errorf("%q: want a media type such as text/html, image/* or */*", text)
			}
			*types = append(*types, strings.ToLower(text))
		}
		return nil
	}
}

var mediaType = regexp.MustCompile(`^(\*/\*|[\w.+-]+/(\*|[\w.+-]+))$`)

func headersInto(rule *node.SiteRule) func(value) error {
	return func(v value) error {
		texts, err := scalars(v.node)
		if err != nil {
			return err
		}
		for i, text := range texts {
			name, value, ok := strings.Cut(text, ":")
			value = strings.TrimSpace(value)
			if !ok || !httpguts.ValidHeaderFieldName(name) || !httpguts.ValidHeaderFieldValue(value) {
				return fmt.Errorf("number %d: want NAME: VALUE", i+1) // the value may be a secret
			}
			addHeader(rule, name, value)
		}
		return nil
	}
}

func addHeader(rule *node.SiteRule, name, value string) {
	if rule.Header == nil {
		rule.Header = http.Header{}
	}
	rule.Header.Add(name, value)
}

// tabbed matches a line that YAML refuses because of a tab in its indentation.
var tabbed = regexp.MustCompile(`^ *\t`)

// parseYAML parses a file; its error has file and line.
func parseYAML(file string, text []byte) (*ast.File, error) {
	tree, err := parser.ParseBytes(text, 0)
	if syntax, ok := errors.AsType[*yaml.SyntaxError](err); ok {
		line := 1
		if syntax.Token != nil {
			line = syntax.Token.Position.Line
		}
		if lines := strings.Split(string(text), "\n"); line <= len(lines) && tabbed.MatchString(lines[line-1]) {
			return nil, fmt.Errorf("%s:%d: the line begins with a tab: put spaces in its place", file, line)
		}
		return nil, fmt.Errorf("%s:%d: %s", file, line, syntax.Message)
	} else if err != nil {
		return nil, fmt.Errorf("%s:1: %w", file, err)
	}
	return tree, nil
}

// siteOf reads a site as an operator types it: https://example.org, or a URL of it.
func siteOf(text string) (weburl.Site, error) {
	u, err := parseURL(text)
	return u.Site(), err
}
