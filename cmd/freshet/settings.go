package main

import (
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/spf13/pflag"
)

// A setting's value comes from its flag, its FRESHET_ variable, the file of --config, or its default, in this order.
// The list of settings is a flag set, crawlFlags in crawl.go. Flags, variables, YAML keys and their documentation all
// come from it.

// variable returns the environment variable of a setting: FRESHET_MAX_PAGES for max-pages.
func variable(name string) string {
	return "FRESHET_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
}

// settle gives every setting of flags that was not typed its value from the environment or the file ("": none, "-":
// in). Its error lists every fault, a line each.
func settle(flags *pflag.FlagSet, file string, in io.Reader) error {
	for _, warning := range strayVariables(flags, os.Environ()) {
		fmt.Fprintln(os.Stderr, "freshet: warning:", warning)
	}
	if err := assign(environment(flags)); err != nil || file == "" {
		return err
	}
	return settleFile(flags, file, in)
}

// settleFile gives every setting of flags that has no value yet its value from the file.
func settleFile(flags *pflag.FlagSet, file string, in io.Reader) error {
	given, err := readConfig(flags, file, in)
	return errors.Join(err, assign(given))
}

// assignment is the value of a setting, with its place. A repeatable setting may have several texts.
type assignment struct {
	flag  *pflag.Flag
	where string
	texts []string
}

// assign sets the settings that have no value yet.
func assign(all []assignment) error {
	var faults []error
	for _, a := range all {
		if a.flag.Changed || len(a.texts) == 0 {
			continue
		}
		if _, repeats := a.flag.Value.(pflag.SliceValue); !repeats && len(a.texts) > 1 {
			faults = append(faults, fmt.Errorf("%s: %s: want one value, not %d", a.where, a.flag.Name, len(a.texts)))
			continue
		}
		for _, text := range a.texts {
			if err := a.flag.Value.Set(text); err != nil {
				faults = append(faults, fmt.Errorf("%s: %s: %w", a.where, a.flag.Name, err))
			}
		}
		a.flag.Changed = true
	}
	return errors.Join(faults...)
}

// environment returns the settings in the environment. The variable of a repeatable setting has one value per line.
func environment(flags *pflag.FlagSet) (all []assignment) {
	flags.VisitAll(func(f *pflag.Flag) {
		if text, ok := os.LookupEnv(variable(f.Name)); ok && isSetting(f) {
			all = append(all, assignment{f, variable(f.Name), strings.Split(text, "\n")})
		}
	})
	return all
}

// strayVariables names the FRESHET_ variables of an environment that are no settings.
func strayVariables(flags *pflag.FlagSet, environ []string) (warnings []string) {
	var names []string
	flags.VisitAll(func(f *pflag.Flag) {
		if isSetting(f) {
			names = append(names, variable(f.Name))
		}
	})
	for _, pair := range environ {
		name, _, _ := strings.Cut(pair, "=")
		if strings.HasPrefix(name, "FRESHET_") && !slices.Contains(names, name) {
			warnings = append(warnings, fmt.Sprintf("the variable %s is no setting%s", name, meant(name, names)))
		}
	}
	slices.Sort(warnings)
	return warnings
}

// isSetting reports whether a flag is a setting and not only an argument of one command.
func isSetting(f *pflag.Flag) bool {
	switch f.Name {
	case "help", "config", "json", "quiet", "cpuprofile", "trace":
		return false
	}
	return true
}

// maxConfig bounds a file of settings, in bytes.
const maxConfig = 1 << 20

// readConfig reads a YAML file of settings, or in for "-".
func readConfig(flags *pflag.FlagSet, file string, in io.Reader) ([]assignment, error) {
	name := file
	if file == "-" {
		name = "standard input"
	} else {
		f, err := os.Open(file)
		if err != nil {
			return nil, err
		}
		defer f.Close()
		in = f
	}
	text, err := io.ReadAll(io.LimitReader(in, maxConfig+1))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if len(text) > maxConfig {
		return nil, fmt.Errorf("%s: longer than %d bytes", name, maxConfig)
	}
	return parseConfig(flags, name, text)
}

// parseConfig reads one YAML mapping from setting to value or list of values, in the order of the file. It returns
// the valid settings, and an error with the line of each fault. For an unknown key the error suggests the nearest
// setting.
func parseConfig(flags *pflag.FlagSet, file string, text []byte) (all []assignment, err error) {
	tree, err := parseYAML(file, text)
	if err != nil {
		return nil, err
	}
	pairs, err := mapping(tree, file)
	if err != nil {
		return nil, err
	}
	var names []string
	flags.VisitAll(func(f *pflag.Flag) {
		if isSetting(f) {
			names = append(names, f.Name)
		}
	})
	var faults []error
	for _, pair := range pairs {
		where := fmt.Sprintf("%s:%d", file, pair.Key.GetToken().Position.Line)
		name := pair.Key.GetToken().Value
		if !slices.Contains(names, name) {
			faults = append(faults, fmt.Errorf("%s: unknown setting %q%s", where, name, meant(name, names)))
			continue
		}
		texts, err := scalars(pair.Value)
		if err != nil {
			faults = append(faults, fmt.Errorf("%s: %s: %w", where, name, err))
			continue
		}
		all = append(all, assignment{flags.Lookup(name), where, texts})
	}
	return all, errors.Join(faults...)
}

// mapping returns the pairs of the one mapping that a file has, or nothing for an empty file.
func mapping(tree *ast.File, file string) (pairs []*ast.MappingValueNode, err error) {
	for _, doc := range tree.Docs {
		var found []*ast.MappingValueNode
		switch body := doc.Body.(type) {
		case nil, *ast.CommentGroupNode, *ast.NullNode:
			continue
		case *ast.MappingNode:
			found = body.Values
		case *ast.MappingValueNode:
			found = []*ast.MappingValueNode{body}
		default:
			return nil, fmt.Errorf("%s:%d: want a mapping of settings", file, body.GetToken().Position.Line)
		}
		if pairs != nil && len(found) > 0 {
			return nil, fmt.Errorf("%s:%d: a second document: want one", file, found[0].GetToken().Position.Line)
		}
		pairs = found
	}
	return pairs, nil
}

// scalars returns the text of a scalar, or of each scalar of a list; none for a null.
func scalars(node ast.Node) ([]string, error) {
	switch n := node.(type) {
	case *ast.SequenceNode:
		var all []string
		for _, item := range n.Values {
			if _, nested := item.(*ast.SequenceNode); nested {
				return nil, errors.New("want a value or a list of values, not a list of lists")
			}
			texts, err := scalars(item)
			if err != nil {
				return nil, err
			}
			all = append(all, texts...)
		}
		return all, nil
	case nil, *ast.NullNode:
		return nil, nil
	case *ast.StringNode:
		return []string{n.Value}, nil
	case *ast.LiteralNode:
		return []string{strings.TrimSuffix(n.Value.Value, "\n")}, nil
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode, *ast.InfinityNode, *ast.NanNode:
		return []string{n.GetToken().Value}, nil
	}
	return nil, fmt.Errorf("want a value or a list of values, not a %s", strings.ToLower(node.Type().String()))
}

// showConfig writes the present settings as a YAML file for --config, each below its description, without secrets.
func showConfig(out io.Writer, flags *pflag.FlagSet) {
	flags.VisitAll(func(f *pflag.Flag) {
		if !isSetting(f) {
			return
		}
		text := f.Value.String()
		if _, ok := f.Value.(pflag.SliceValue); ok {
			var quoted []string
			for _, item := range shown(f) {
				quoted = append(quoted, quote(item))
			}
			text = "[" + strings.Join(quoted, ", ") + "]"
		} else if f.Value.Type() == "string" {
			text = quote(shown(f)[0])
		}
		fmt.Fprintf(out, "# %s (%s)\n%s: %s\n", f.Usage, variable(f.Name), f.Name, text)
	})
}

// shown returns the texts of a setting, without secrets.
func shown(f *pflag.Flag) (texts []string) {
	list, ok := f.Value.(pflag.SliceValue)
	if !ok {
		return []string{withoutSecrets(f, f.Value.String())}
	}
	for _, text := range list.GetSlice() {
		texts = append(texts, withoutSecrets(f, text))
	}
	return texts
}

// withoutSecrets returns a setting's text with "hidden" in place of possible secrets in a URL: user and password, the
// values of the query and, for a webhook, the path. A value that every server receives is no secret.
func withoutSecrets(f *pflag.Flag, text string) string {
	u, err := url.Parse(text)
	if err != nil || u.Host == "" || u.Scheme == "" || f.Name == "contact" || f.Name == "user-agent" {
		return text
	}
	const hidden = "hidden"
	secret := u.User != nil || u.RawQuery != ""
	if u.User != nil {
		u.User = url.User(hidden)
	}
	if u.RawQuery != "" {
		u.RawQuery = hidden
	}
	if f.Name == "webhook" && len(u.Path) > 1 {
		u.Path, u.RawPath, secret = "/"+hidden, "", true
	}
	if !secret {
		return text
	}
	return u.String()
}

// quote returns a text as a YAML scalar in quotes.
func quote(text string) string { return strconv.Quote(text) }

// newCrawlFlags returns the settings of a crawl, all at their defaults.
func newCrawlFlags() *pflag.FlagSet {
	flags := pflag.NewFlagSet("crawl", pflag.ContinueOnError)
	crawlFlags(flags)
	return flags
}
