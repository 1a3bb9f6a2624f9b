package main

import (
	"fmt"
	"os"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// A setting's value comes, in this order, from its flag, from its FRESHET_ variable, from the file of
// --config, or is the default. The list of settings is a flag set: it is written once (crawlFlags in
// crawl.go), and flags, variables, YAML keys and their documentation all come from it.

// variable returns the environment variable of a setting: FRESHET_MAX_PAGES for max-pages.
func variable(name string) string {
	return "FRESHET_" + strings.ToUpper(strings.ReplaceAll(name, "-", "_"))
}

// settle gives every setting of flags that was not typed its value from the environment or the file.
func settle(flags *pflag.FlagSet, file string) error {
	values := map[string]source{}
	if file != "" {
		var err error
		if values, err = readConfig(file, flags); err != nil {
			return err
		}
	}
	var fault error
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Changed || fault != nil || !isSetting(f) {
			return
		}
		if text, ok := os.LookupEnv(variable(f.Name)); ok {
			values[f.Name] = source{variable(f.Name), strings.Split(text, "\n")}
		}
		from, ok := values[f.Name]
		if !ok {
			return
		}
		for _, text := range from.values {
			if err := flags.Set(f.Name, text); err != nil {
				fault = fmt.Errorf("%s: %s: %w", from.where, f.Name, err)
			}
		}
	})
	return fault
}

// source is where a setting's value was found, and its text; several for a setting that repeats.
type source struct {
	where  string
	values []string
}

// isSetting tells a setting from the flags that only steer one command.
func isSetting(f *pflag.Flag) bool {
	switch f.Name {
	case "help", "config", "json", "quiet":
		return false
	}
	return true
}

// readConfig reads a YAML file of settings: one mapping from setting to value or list of values. A key
// that is no setting of flags is an error that names its line and the nearest right key.
func readConfig(file string, flags *pflag.FlagSet) (map[string]source, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	tree, err := parser.ParseBytes(text, 0)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	values := map[string]source{}
	for _, doc := range tree.Docs {
		var pairs []*ast.MappingValueNode
		switch body := doc.Body.(type) {
		case nil:
			continue
		case *ast.MappingNode:
			pairs = body.Values
		case *ast.MappingValueNode:
			pairs = []*ast.MappingValueNode{body}
		case *ast.CommentGroupNode, *ast.NullNode:
			continue
		default:
			return nil, fmt.Errorf("%s:%d: want a mapping of settings", file, body.GetToken().Position.Line)
		}
		for _, pair := range pairs {
			name := pair.Key.String()
			where := fmt.Sprintf("%s:%d", file, pair.Key.GetToken().Position.Line)
			f := flags.Lookup(name)
			if f == nil || !isSetting(f) {
				return nil, fmt.Errorf("%s: unknown setting %q%s", where, name, nearest(name, flags))
			}
			texts, err := scalars(pair.Value)
			if err != nil {
				return nil, fmt.Errorf("%s: %s: %w", where, name, err)
			}
			values[name] = source{where, texts}
		}
	}
	return values, nil
}

// scalars returns the text of a scalar, or of each scalar of a list.
func scalars(node ast.Node) ([]string, error) {
	switch n := node.(type) {
	case *ast.SequenceNode:
		var all []string
		for _, item := range n.Values {
			texts, err := scalars(item)
			if err != nil {
				return nil, err
			}
			all = append(all, texts...)
		}
		return all, nil
	case *ast.NullNode:
		return nil, nil
	case *ast.MappingNode, *ast.MappingValueNode:
		return nil, fmt.Errorf("want a value or a list of values, not a mapping")
	}
	return []string{node.GetToken().Value}, nil
}

// nearest returns ` (did you mean "x"?)` for the setting with the smallest edit distance to name, or
// nothing if none is near.
func nearest(name string, flags *pflag.FlagSet) string {
	best, distance := "", len(name)/2+1
	flags.VisitAll(func(f *pflag.Flag) {
		if d := editDistance(name, f.Name); isSetting(f) && d < distance {
			best, distance = f.Name, d
		}
	})
	if best == "" {
		return ""
	}
	return fmt.Sprintf(" (did you mean %q?)", best)
}

// editDistance returns how many bytes must be put in, taken out or replaced to make b of a. O(len(a)·len(b)).
func editDistance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		diagonal := row[0]
		row[0] = i + 1
		for j := range len(b) {
			substitute := diagonal
			if a[i] != b[j] {
				substitute++
			}
			diagonal = row[j+1]
			row[j+1] = min(substitute, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}

// showConfig writes the settings in force as a YAML file that --config accepts, each under its sentence.
func showConfig(cmd *cobra.Command, flags *pflag.FlagSet) {
	out := cmd.OutOrStdout()
	flags.VisitAll(func(f *pflag.Flag) {
		if !isSetting(f) {
			return
		}
		fmt.Fprintf(out, "# %s (%s)\n", f.Usage, variable(f.Name))
		if list, ok := f.Value.(pflag.SliceValue); ok {
			fmt.Fprintf(out, "%s: [%s]\n", f.Name, strings.Join(quoteAll(list.GetSlice()), ", "))
			return
		}
		fmt.Fprintf(out, "%s: %s\n", f.Name, quoteIfNeeded(f.Value.String()))
	})
}

func quoteAll(texts []string) []string {
	quoted := make([]string, len(texts))
	for i, text := range texts {
		quoted[i] = fmt.Sprintf("%q", text)
	}
	return quoted
}

func quoteIfNeeded(text string) string {
	if text == "" || strings.ContainsAny(text, ":#{}[],&*!|>'\"%@` ") {
		return fmt.Sprintf("%q", text)
	}
	return text
}

// newCrawlFlags returns the settings of a crawl, all at their defaults.
func newCrawlFlags() *pflag.FlagSet {
	flags := pflag.NewFlagSet("crawl", pflag.ContinueOnError)
	crawlFlags(flags)
	return flags
}
