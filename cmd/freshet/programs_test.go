package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestProgramsOfDocs checks the commands of other programs that pages name. The check depends on what the command
// costs:
//
//   - go test with -bench: the name, the packages and the flags must exist; go test ./... shows that they compile. With
//     FRESHET_DOC_BENCHMARKS, as in make check, the test runs each benchmark once, if that takes seconds (costly).
//   - go test without -bench: the test checks that the named tests exist. They run with all others.
//   - make: a dry run. make alone runs.
//   - A script below bench: bash parses it, and its runner must know the flags. Scripts that need no other crawler
//     run once, with this program (scripts).
//   - bench SUBCOMMAND and go run -C bench .: the subcommand and the flags must exist. The module bench is not built
//     here.
//   - Programs that are not ours, and those that need the open network: not run (others).
func TestProgramsOfDocs(t *testing.T) {
	seen, run := map[string]bool{}, map[string]bool{}
	t.Setenv("GOBIN", t.TempDir())
	for _, command := range commandsOf(t) {
		if seen[command.text] || command.words[0] == "freshet" || isOthers(command.text) {
			continue
		}
		seen[command.text] = true
		t.Run(command.text, func(t *testing.T) {
			switch args := command.words[1:]; {
			case command.words[0] == "make":
				checkMake(t, args)
			case command.words[0] == "bench":
				checkBench(t, command, args[0], nil)
			case strings.HasPrefix(command.words[0], "bench/"):
				checkScript(t, command)
				if script := command.words[0]; !run[script] {
					run[script] = true
					runScript(t, script)
				}
			case command.words[0] == "go" && args[0] == "test":
				checkGoTest(t, command, run)
			case strings.HasPrefix(command.text, "go run -C bench . "):
				checkBench(t, command, args[4], args[5:])
			case command.words[0] == "go" && args[0] == "run" && strings.HasPrefix(args[1], "./internal/"):
				// Not run: they need data that is not ours, or take long.
				inRepository(t, "go", "build", "-o", os.DevNull, args[1])
			case command.words[0] == "go" && args[0] == "install":
				inRepository(t, command.words...)
			default:
				t.Errorf("%s: it is not known how to run this: want a case for it, or a place in others", command.page)
			}
		})
	}
	if len(seen) < 40 {
		t.Errorf("%d commands found: want 40 or more", len(seen))
	}
}

// variablesOfGo are environment variables that Go itself looks at.
var variablesOfGo = []string{"CGO_ENABLED", "GOGC", "GOMAXPROCS"}

// TestCommandsOfComments holds that the names in each go test command of a comment are there. It runs none: most take
// long.
func TestCommandsOfComments(t *testing.T) {
	line := regexp.MustCompile(`(?m)^\s*//\t((?:[A-Z_]+=\S+ )*)(go test .*)$`)
	found := 0
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() && path != root && strings.HasPrefix(entry.Name(), ".") {
			return filepath.SkipDir
		}
		if err != nil || filepath.Ext(path) != ".go" {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, parts := range line.FindAllStringSubmatch(string(text), -1) {
			found++
			command := namedCommand{path, parts[2], strings.Fields(parts[1]), wordsOf(parts[2])}
			checkNames(t, command, goTestOf(command.words[2:]))
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if found < 5 {
		t.Errorf("%d commands found: want 5 or more", found)
	}
}

// TestCommandsOfTexts checks the commands of freshet that the program itself names, in help, errors and log lines.
// Each exists and has the flags that follow its name.
func TestCommandsOfTexts(t *testing.T) {
	named := regexp.MustCompile(`freshet((?: [a-z]+)+)((?: --[a-z-]+)*)`)
	found := 0
	root := filepath.Join("..", "..")
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.IsDir() && path != root && strings.HasPrefix(entry.Name(), ".") {
			return filepath.SkipDir
		}
		if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		folder, _ := filepath.Rel(root, filepath.Dir(path))
		for _, text := range literalsOf(t, folder, filepath.Base(path)) {
			for _, parts := range named.FindAllStringSubmatch(text, -1) {
				cmd, _, err := newRoot().Find(strings.Fields(parts[1]))
				if err != nil || !cmd.HasParent() {
					if !slices.ContainsFunc(noCommands, func(words string) bool { return strings.HasPrefix(parts[0], words) }) {
						t.Errorf("%s: %q names no command", path, parts[0])
					}
					continue
				}
				found++
				for flag := range strings.FieldsSeq(parts[2]) {
					if cmd.Flags().Lookup(strings.TrimPrefix(flag, "--")) == nil && flag != "--help" {
						t.Errorf("%s: %q: no flag %s", path, parts[0], flag)
					}
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if found < 100 {
		t.Errorf("%d commands found: want 100 or more", found)
	}
}

// noCommands lists beginnings of the program's texts in which a word after freshet is not a command.
var noCommands = []string{"freshet https", "freshet or", "freshet partition", "freshet said"}

// wordsOf returns the words of a command, without quotes.
func wordsOf(command string) []string {
	words := strings.Fields(command)
	for i := range words {
		words[i] = strings.Trim(words[i], `'"`)
	}
	return words
}

// others lists beginnings of commands that the test does not run: those of programs that are not ours. Most need the
// open network.
var others = []string{
	"apt-get install ", // the peers of bench
	"curl -d hub.mode=subscribe ",
	"go tool pprof ", // of the go command
	"npm install -g warcio",
	"wget --mirror", "wget --warc-file",
}

func isOthers(text string) bool {
	return slices.ContainsFunc(others, func(other string) bool { return strings.HasPrefix(text, other) })
}

// costly lists the benchmarks that take from ten seconds to hours even for one run: their folder and what -bench says.
var costly = []string{
	"allocate HundredMillion", "allocate Mixture/algorithm=multiplier",
	"bench/cache .", // and needs modules that are not ours
	"feed/broadcast/scheduler Decisions",
	"node Crawl$", "node CrawlTLS", "node Fleet", "node Memory", "node Places", "node Polite$", "node PoliteRestarts", "node Soak",
	"frontier .", "frontier Orderings",
	"importance PageRank",
	"internal/e2e Prediction", "internal/honesty Honesty", "internal/live Feed",
	"schedule Schedule/by=sweep", "seen/disk Fill",
	"sim/discovery .", "sim/event .",
	"store Commit",
}

// scripts has the arguments that make a script below bench quick.
var scripts = map[string]string{
	"bench/panes.sh":  "3 1",
	"bench/replay.sh": "page-updates.csv.gz results uniform 0.01",
	"bench/solver.sh": "20",
}

// inRepository runs a program where go.mod is, and returns what it prints.
func inRepository(t *testing.T, command ...string) string {
	t.Helper()
	return inFolder(t, filepath.Join("..", ".."), command...)
}

func inFolder(t *testing.T, dir string, command ...string) string {
	t.Helper()
	process := exec.CommandContext(t.Context(), command[0], command[1:]...)
	process.Dir = dir
	out, err := process.CombinedOutput()
	if err != nil {
		t.Errorf("%s: %v\n%s", strings.Join(command, " "), err, out)
	}
	return string(out)
}

func checkMake(t *testing.T, targets []string) {
	t.Helper()
	if len(targets) == 0 {
		inRepository(t, "make")
		return
	}
	inRepository(t, append([]string{"make", "--dry-run"}, targets...)...)
}

// checkBench holds that bench has the subcommand, and that something in it, or its folder, has the flags.
func checkBench(t *testing.T, command namedCommand, name string, args []string) {
	t.Helper()
	known := literalsOf(t, "bench", "*.go")
	if !slices.Contains(known, name) {
		t.Errorf("%s: bench/main.go knows no %q", command.page, name)
	}
	known = append(known, literalsOf(t, filepath.Join("bench", name), "*.go")...)
	for _, word := range args {
		if flag, ok := strings.CutPrefix(word, "--"); ok && !slices.Contains(known, flag) {
			t.Errorf("%s: bench %s knows no --%s", command.page, name, flag)
		}
	}
}

// checkScript holds that bash parses the script and that its runner knows the flags.
func checkScript(t *testing.T, command namedCommand) {
	t.Helper()
	inRepository(t, "bash", "-n", command.words[0])
	for _, word := range command.words[1:] {
		if flag, ok := strings.CutPrefix(word, "-"); ok && !slices.Contains(literalsOf(t, "bench", "*.go"), flag) {
			t.Errorf("%s: bench knows no -%s", command.page, flag)
		}
	}
}

// runScript runs a script that needs no other crawler, with this program.
func runScript(t *testing.T, name string) {
	t.Helper()
	args, ok := scripts[name]
	if !ok {
		return
	}
	for part, tool := range map[string]string{"replay.sh": "jq", "panes.sh": "curl"} {
		if _, err := exec.LookPath(tool); err != nil && strings.HasSuffix(name, part) {
			t.Skipf("it needs %s, which is not installed", tool)
		}
	}
	script, err := filepath.Abs(filepath.Join("..", "..", name))
	if err != nil {
		t.Fatal(err)
	}
	program, err := exec.LookPath("freshet")
	if err != nil {
		t.Fatal(err)
	}
	t.Setenv("PROGRAM", program)
	dir := t.TempDir()
	putHistories(t, filepath.Join(dir, "page-updates.csv.gz"), "site0", "site1", "site2", "site3")
	if out := inFolder(t, dir, append([]string{script}, strings.Fields(args)...)...); out == "" {
		t.Errorf("%s %s prints nothing", name, args)
	}
}

// goTest is what a command line of go test asks for.
type goTest struct {
	folders    []string // below the repository
	run, bench string
	others     []string // flags, without dashes and values
}

// valued are the flags of go test that take a value, as a word of its own; -v takes none, and a package's own are
// looked up in it.
var valued = []string{"C", "bench", "benchtime", "count", "run", "timeout"}

// goTestOf reads the words after go test. It assumes that a package's own flag has no value. If one has, checkNames
// looks up the value as a package and fails, unless the value begins with a dash.
func goTestOf(words []string) (g goTest) {
	base := ""
	for i := 0; i < len(words); i++ {
		flag, dashed := strings.CutPrefix(words[i], "-")
		switch {
		case dashed && slices.Contains(valued, flag) && i+1 < len(words):
			i++
			switch flag {
			case "C":
				base = words[i]
			case "run":
				g.run = words[i]
			case "bench":
				g.bench = words[i]
			}
		case dashed && flag != "v":
			g.others = append(g.others, flag)
		case strings.HasPrefix(words[i], "./"):
			g.folders = append(g.folders, filepath.Join(base, words[i]))
		}
	}
	return g
}

// checkGoTest holds that everything the command names exists. If asked to, it runs the benchmarks once unless they are
// costly, or were run before.
func checkGoTest(t *testing.T, command namedCommand, run map[string]bool) {
	t.Helper()
	asked := goTestOf(command.words[2:])
	checkNames(t, command, asked)
	if os.Getenv("FRESHET_DOC_BENCHMARKS") == "" {
		return
	}
	for _, folder := range asked.folders {
		if name := folder + " " + asked.bench; asked.bench != "" && !run[name] && !slices.Contains(costly, name) {
			run[name] = true
			out := inRepository(t, "go", "test", "-run", "^$", "-bench", asked.bench, "-benchtime", "1x", "./"+folder)
			if !strings.Contains(out, "\nBenchmark") {
				t.Errorf("%s: no benchmark ran:\n%s", command.page, out)
			}
		}
	}
}

// checkNames holds that the packages, tests, benchmarks, flags and variables that a command names are there.
func checkNames(t *testing.T, command namedCommand, asked goTest) {
	t.Helper()
	if len(asked.folders) == 0 {
		t.Errorf("%s: no package", command.page)
	}
	for _, folder := range asked.folders {
		kind, pattern := "Test", asked.run
		if asked.bench != "" {
			kind, pattern = "Benchmark", asked.bench
		}
		if names := functionsOf(t, folder); !matches(t, names, kind, pattern) {
			t.Errorf("%s: no %s of %s is named %q", command.page, kind, folder, pattern)
		}
		literals := literalsOf(t, folder, "*_test.go")
		for _, name := range asked.others {
			if !slices.Contains(literals, name) {
				t.Errorf("%s: the tests of %s have no flag -%s", command.page, folder, name)
			}
		}
		for _, variable := range command.variables {
			name, _, _ := strings.Cut(variable, "=")
			if !slices.Contains(variablesOfGo, name) && !slices.Contains(literals, name) {
				t.Errorf("%s: the tests of %s do not look at %s", command.page, folder, name)
			}
		}
	}
}

// matches reports whether the first part of a pattern, up to a slash, is in a name of this kind.
func matches(t *testing.T, names []string, kind, pattern string) bool {
	t.Helper()
	pattern, _, _ = strings.Cut(pattern, "/")
	compiled, err := regexp.Compile(pattern)
	if err != nil {
		t.Error(err)
		return false
	}
	return slices.ContainsFunc(names, func(name string) bool {
		return strings.HasPrefix(name, kind) && compiled.MatchString(name)
	})
}

// functionsOf returns the names of the functions in the test files of a folder of the repository.
func functionsOf(t *testing.T, folder string) (names []string) {
	t.Helper()
	for _, file := range parsed(t, folder, "*_test.go") {
		for _, declared := range file.Decls {
			if function, ok := declared.(*ast.FuncDecl); ok {
				names = append(names, function.Name.Name)
			}
		}
	}
	return names
}

// literalsOf returns the strings in such files of a folder: names of flags, variables, subcommands are among them.
func literalsOf(t *testing.T, folder, pattern string) (texts []string) {
	t.Helper()
	for _, file := range parsed(t, folder, pattern) {
		ast.Inspect(file, func(n ast.Node) bool {
			if literal, ok := n.(*ast.BasicLit); ok && literal.Kind == token.STRING {
				if text, err := strconv.Unquote(literal.Value); err == nil {
					texts = append(texts, text)
				}
			}
			return true
		})
	}
	return texts
}

// parsed returns the Go files of a folder of the repository that match a pattern.
func parsed(t *testing.T, folder, pattern string) (files []*ast.File) {
	t.Helper()
	names, err := filepath.Glob(filepath.Join("..", "..", folder, pattern))
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range names {
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	return files
}

// namedCommand is a command that a page names.
type namedCommand struct {
	page, text string
	variables  []string // set for it: NAME=value
	words      []string // the program's name first; without quotes, redirections, pipes and comments
}

// program matches a command by the program that it begins with, after its settings of variables.
var program = regexp.MustCompile(`^((?:[A-Z_]+=\S* )*)(freshet|go|make|bench|bench/\w+\.sh|scripts/\w+|apt-get|curl|git|npm|wget)( .*)?$`)

// commandsOf returns the commands that pages name, within sentences and in blocks. It leaves out blocks fenced as sh:
// only pages that internal/e2e runs may have them. It leaves out docs/commands.md too, whose examples are those of
// help.
func commandsOf(t *testing.T) (commands []namedCommand) {
	t.Helper()
	var (
		fence   = regexp.MustCompile("(?ms)^```(\\w*)\n(.*?)^```$")
		inline  = regexp.MustCompile("`([^`\n]+)`")
		block   = regexp.MustCompile(`(?m)^(?:    )?(\S.*)$`)
		comment = regexp.MustCompile(`\s+#.*| [|>&].*|\\$`)
		run     = regexp.MustCompile(`^(README|docs/tutorials/.*|docs/how-to/.*)\.md$`) // by internal/e2e
	)
	for _, page := range pagesOf(t) {
		if page.name == "docs/commands.md" {
			continue
		}
		text := fence.ReplaceAllStringFunc(page.text, func(fenced string) string {
			switch part := fence.FindStringSubmatch(fenced); {
			case part[1] == "":
				return block.ReplaceAllString(part[2], "    $1")
			case part[1] == "sh" && !run.MatchString(page.name):
				t.Errorf("%s has a block fenced as sh, and is not of %v, whose blocks internal/e2e runs", page.name, run)
			}
			return ""
		})
		var lines []string
		for _, found := range inline.FindAllStringSubmatch(text, -1) {
			lines = append(lines, found[1])
		}
		for line := range strings.Lines(text) {
			if rest, indented := strings.CutPrefix(line, "    "); indented {
				lines = append(lines, strings.TrimSpace(rest))
			}
		}
		for _, line := range lines {
			line = comment.ReplaceAllString(strings.ReplaceAll(line, "…", ""), "")
			if found := program.FindStringSubmatch(line); found != nil {
				commands = append(commands, namedCommand{page.name, line, strings.Fields(found[1]), wordsOf(found[2] + found[3])})
			}
		}
	}
	return commands
}
