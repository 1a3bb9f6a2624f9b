package main

import (
	"bytes"
	"compress/gzip"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"freshet/cmd/freshet/command"
)

// TestCommandsRun runs every command that a page names, in a block or within a sentence. It leaves blocks fenced as sh
// to internal/e2e, which runs those of the README, the tutorials and the how-to pages. No other page may have such a
// block.
//
// A command of freshet runs in a folder with a small crawl, a daemon and small files with the names that pages use.
// The table placeholders gives words in capitals a value. The table forms adds missing arguments and makes long runs
// short; experiments have a Quick form of their own. A flag of the quick form takes the place of the page's flag, so
// only TestCommandsOfDocs checks the page's value. All other flags stand as the page has them. TestProgramsOfDocs
// checks the commands of other programs.
//
// A command that these tables do not have runs as it stands. The test fails if the command fails or does not end.
func TestCommandsRun(t *testing.T) {
	commands := commandsOf(t)
	address := scene(t)
	ran := map[string]bool{}
	for _, command := range commands {
		if command.words[0] != "freshet" {
			continue
		}
		args, code := quickForm(t, command.words[1:], address)
		line := strings.Join(args, " ")
		if ran[line] {
			continue
		}
		ran[line] = true
		t.Run(command.text, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
			defer cancel()
			process := exec.CommandContext(ctx, "freshet", args...)
			said, err := process.CombinedOutput()
			if process.ProcessState == nil || process.ProcessState.ExitCode() != code {
				t.Errorf("%s names it, and freshet %s was run: %v: want exit code %d; does it want a line in forms?\n%s", command.page, line, err, code, said)
			}
		})
	}
	if len(ran) < 50 {
		t.Errorf("%d commands found: want 50 or more", len(ran))
	}
}

// placeholders gives a value to each word in capitals. ADDR is the daemon's address. In forms, HERE is the folder.
var placeholders = map[string]string{
	"COMMAND": "crawl", "CURSOR": "start", "DIR": "folder", "FILE": "file", "HOST": "other.test", "NAME": "queue", "S": "0.05", "URL": "http://site.test/", "V": "0.1", "WORDS": "page",
}

// form makes a command quick, or complete: its flags replace the command's flags of the same name.
type form struct {
	args string
	code int // the exit code wanted
}

// forms are by the words that a command begins with; of several the longest is meant.
var forms = map[string]form{
	"cat":                        {args: "http://site.test/"},
	"cluster":                    {},
	"cluster dev":                {args: "--for=3s --nodes=1 --sites=2 --pages=40 --dir=trial --port=18351"},
	"cluster status":             {args: "--nats=nats://127.0.0.1:1", code: command.ExitFailed}, // nobody listens there
	"cluster drain":              {args: "--nats=nats://127.0.0.1:1", code: command.ExitFailed},
	"cluster rebalance":          {args: "--nats=nats://127.0.0.1:1", code: command.ExitFailed},
	"crawl --refresh":            {args: "--for=500ms --data=refreshed", code: command.ExitLimit},
	"demo":                       {args: "--sites=2 --pages=40 --for=1d --seeds= --data=demo", code: command.ExitLimit},
	"demo --refresh=false":       {args: "--sites=2 --pages=40 --seeds= --data=discovered"},
	"explain":                    {args: "http://site.test/"},
	"explain URL":                {},
	"export":                     {args: "--cdxj=index.cdxj"},
	"history":                    {args: "http://site.test/"},
	"import":                     {args: "--data=taken urls.csv"},
	"lab report":                 {args: "--quick --only=queue"},
	"lab run replay":             {args: "--histories=page-updates.csv.gz"},
	"lab run replay --histories": {},
	"lab run replay-evidence":    {args: "--histories=. --kept=evidence.csv --plot=evidence.svg"},
	"pause":                      {args: "--data=searched"}, // in the other directory what comes after would wait
	"plan":                       {args: "--pages=pages.csv --budget=4"},
	"purge":                      {args: "http://site.test/ --page --dry-run"},
	"purge URL":                  {args: "--page --dry-run"},
	"reload":                     {args: "--data=served"},
	"schedule":                   {args: "--tasks=tasks.csv --crawlers=1x3 --interval=1h"},
	"search":                     {args: "page --data=searched"},
	"search WORDS":               {args: "--data=searched"},
	"segments take":              {code: command.ExitUsage}, // no segment has moved
	"seen":                       {args: "--trace=real-14.u64.zst --policy=clock --size=64"},
	"serve":                      {args: "--config=empty.yaml --data=second --for=500ms", code: command.ExitLimit},
	"serve --nats":               {args: "--config=empty.yaml --data=node --nats=nats://127.0.0.1:1", code: command.ExitFailed},
	"snapshot":                   {args: "copy"},
	"subscribe":                  {args: "ADDR --once"},
	"subscribe ADDR":             {args: "--once"},
	"text":                       {args: "http://site.test/"},
	"text URL":                   {},
	"unblock":                    {args: "other.test"},
	"unblock HOST":               {},
	"view":                       {args: "--data=data --for=500ms --listen=127.0.0.1:0"},
	"weights":                    {args: "--log=queries.csv"},

	// At its end a crawl waits a minute for a sink that is out of reach.
	"serve --config freshet.yaml --refresh --budget 5000 --sink": {args: "--config=empty.yaml --data=handed --for=500ms --sink=file://HERE/sunk", code: command.ExitLimit},
}

// smaller are the flags that make an experiment quicker still than its Quick does: here its figures are of no
// account.
var smaller = map[string]string{
	"broder":            "--web=graph --requests=2000 --to=8",
	"castillo":          "--sites=8 --connections=1,4",
	"castillo-parallel": "--sites=8 --connections=1,4",
	"gate":              "--pages=300",
	"lam":               "--subscribers=20 --downloaders=5 --duration=5d",
	"replay":            "--seeds=1",
	"replay-held-out":   "--seeds=1",
	"wolf":              "--pages=200 --slots=200 --draws=1",
	"wolf-mixture":      "--pages=100 --intervals=10 --scored=5 --seeds=1",
}

// quickForm returns the arguments that run a command of freshet quickly, and the exit code wanted.
func quickForm(t *testing.T, words []string, address string) (args []string, code int) {
	t.Helper()
	line, known := strings.Join(words, " ")+" ", ""
	for prefix := range forms {
		if len(prefix) > len(known) && strings.HasPrefix(line, prefix+" ") {
			known = prefix
		}
	}
	for _, word := range words {
		if meaning, ok := placeholders[word]; ok {
			word = meaning
		}
		args = append(args, word)
	}
	args = instead(t, args, strings.Fields(forms[known].args))
	for _, e := range experiments() {
		if len(args) > 2 && slices.Equal(args[:3], []string{"lab", "run", e.Name}) {
			args = instead(t, args, e.Quick)
			args = instead(t, args, strings.Fields(smaller[e.Name]))
		}
	}
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	for i := range args {
		args[i] = strings.NewReplacer("ADDR", address, "HERE", here).Replace(args[i])
	}
	return args, forms[known].code
}

// instead returns args with others after them, and without the flags that others have too.
func instead(t *testing.T, args, others []string) (all []string) {
	t.Helper()
	cmd, _, err := newRoot().Find(args)
	if err != nil {
		t.Fatalf("freshet %s: %v", strings.Join(args, " "), err)
	}
	named := func(word string) (name string, whole bool) {
		name, _, whole = strings.Cut(word, "=")
		return name, whole
	}
	for i := 0; i < len(args); i++ {
		name, whole := named(args[i])
		replaced := strings.HasPrefix(name, "--") && slices.ContainsFunc(others, func(other string) bool {
			same, _ := named(other)
			return same == name
		})
		if !replaced {
			all = append(all, args[i])
			continue
		}
		if flag := cmd.Flags().Lookup(name[2:]); !whole && flag != nil && flag.NoOptDefVal == "" {
			i++ // the value, which is a word of its own
		}
	}
	return append(all, others...)
}

// scene changes to a new folder and puts there what commands need: files, a small crawl, settings. It returns the
// address of a daemon that keeps a crawl in the folder served.
func scene(t *testing.T) (address string) {
	t.Helper()
	// Of the evidence only one kind of pages is measured.
	kept := regexp.MustCompile(`(?m)^laws,.*\n`).ReplaceAllString(fileOf(t, "docs", "plots", "evidence.csv"), "")
	dir := t.TempDir()
	t.Chdir(dir)
	certificate(t, "cert.pem", "key.pem", "example.org")
	pair, err := tls.LoadX509KeyPair("cert.pem", "key.pem")
	if err != nil {
		t.Fatal(err)
	}
	plain, secure := httptest.NewServer(smallWeb()), httptest.NewUnstartedServer(smallWeb())
	t.Cleanup(plain.Close)
	secure.TLS = &tls.Config{Certificates: []tls.Certificate{pair}}
	secure.StartTLS()
	t.Cleanup(secure.Close)
	for name, value := range map[string]string{
		"HOME": dir, "TMPDIR": dir, "SSL_CERT_FILE": "cert.pem",
		"FRESHET_ALLOW_PRIVATE": "true", "FRESHET_DATA": "data", "FRESHET_DELAY": "0s", "FRESHET_LISTEN": "", "FRESHET_RETRIES": "0", "FRESHET_SEEDS": "seeds",
		"FRESHET_RESOLVE": "site.test=" + plain.Listener.Addr().String() + "\nexample.org=" + secure.Listener.Addr().String(),
	} {
		t.Setenv(name, value)
	}
	put(t, "seeds", "http://site.test/\n")
	put(t, "empty.yaml", "{}\n")
	put(t, "evidence.csv", kept)
	put(t, "pages.csv", "url,weight,process,rate\na,1,poisson,2\nb,2,poisson,1\n")
	put(t, "queries.csv", "query,url,page,position,clicked,changed,answer\nq,a,1,1,1,1,wrong\n")
	put(t, "tasks.csv", "id,time_s,kind\na,10,ordinary\nb,20,release\n")
	put(t, "urls.csv", "url,weight\nhttp://site.test/,2\n")
	putHistories(t, "page-updates.csv.gz", "owner/site0", "owner/site1", "owner/site2", "owner/site3")
	put(t, "page-updates-bulk.csv", "site,time,pages_touched\nowner/site0,1600000000,100\n")
	putHistories(t, "page-updates-starved.csv.gz", "nodejs.org", "owner/site1")
	putHistories(t, "polled-pages.csv.gz", "docs.cloud.google.com", "www.gesetze-im-internet.de", "www.gov.uk", "small.test")
	freshet(t, 0, "crawl", "--record-trace", "real-14.u64.zst")
	freshet(t, 0, "crawl", "--index", "--data", "searched")
	freshet(t, 0, "export", "--graph", "graph")
	address = freeAddress(t, "127.0.0.1")
	start(t, "serve", "--config", "empty.yaml", "--data", "served", "--listen", address).awaitLine("serving")
	return address
}

// putHistories writes the histories of a hundred pages on some sites, which change at random, every 20 to 120 days,
// over six and a half years.
func putHistories(t *testing.T, name string, sites ...string) {
	t.Helper()
	const day, end = 86400, 1_700_000_000
	r := rand.New(rand.NewPCG(1, 1))
	var text bytes.Buffer
	fmt.Fprintln(&text, "site,page,alive,end,times")
	for i := range 100 {
		fmt.Fprintf(&text, "%s,page%d,1,%d,", sites[i%len(sites)], i, end)
		separator := ""
		for at := end - 2400*day; at < end; at += 1 + int(float64(20+i)*day*r.ExpFloat64()) {
			fmt.Fprintf(&text, "%s%d", separator, at)
			separator = " "
		}
		fmt.Fprintln(&text)
	}
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	_, err := w.Write(text.Bytes())
	if err := errors.Join(err, w.Close()); err != nil {
		t.Fatal(err)
	}
	put(t, name, packed.String())
}
