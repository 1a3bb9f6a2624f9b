package main

import (
	"bytes"
	"cmp"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// A course is what all contenders crawl, one after another.
type course struct {
	web             *web
	freshet, scrapy string // programs
	only, dir       string
	rounds          int
	limit           int // seconds
}

// A contender is a crawler and its arguments. {dir} stands for a new empty directory, {file} for the file of the
// seeds, {seeds} for the seeds, and {seed} for the first seed, because wget would fetch everything again for each
// seed.
type contender struct {
	name string
	once bool // one round is enough: it is far behind
	args []string
}

func (c *course) contenders() ([]contender, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	freshet := strings.Fields(c.freshet + " crawl --seeds {file} --data {dir} --allow-private --delay 0s --connections 256 --listen= --quiet")
	return []contender{
		{"Freshet", false, freshet},
		{"Freshet uncompressed", false, append(slices.Clone(freshet), "--warc-level", "0")},
		{"Freshet indexed", false, append(slices.Clone(freshet), "--index")},
		{"Freshet 4 shards", false, append(slices.Clone(freshet), "--shards", "4")},
		{"Freshet fleet 64", false, append(slices.Clone(freshet), "--fleet", "64")},
		{"Freshet fleet 100", false, append(slices.Clone(freshet), "--fleet", "100")},
		{"Colly", false, []string{self, "colly", "{dir}", "{seeds}"}},
		{"Colly one file", false, []string{self, "colly-one-file", "{dir}", "{seeds}"}},
		{"wget --mirror", false, strings.Fields("wget --mirror -H -nv -o /dev/null -P {dir} {seed}")},
		{"wget --warc-file", false, strings.Fields("wget -r -l inf -H -nv -o /dev/null --warc-file={dir}/crawl -P {dir} {seed}")},
		{"HTTrack", true, strings.Fields("httrack {seed} -O {dir} --disable-security-limits -q -e -s0 -I0 -c64 -%c0 -A0")},
		{"Scrapy", true, strings.Fields("scrapy runspider " + c.scrapy + " -a out={dir} -a seeds={file}")},
	}, nil
}

// A result is what one crawl took.
type result struct {
	name      string
	seconds   float64 // wall
	crawling  float64 // seconds until the last page was asked for
	processor float64 // seconds, user and system
	web       float64 // seconds of processor time of the crawled web
	peak      float64 // MiB
	stored    float64 // MiB
	exit      string
	tally
}

func (r result) pages() float64      { return float64(r.once + r.more) }
func (r result) pace() float64       { return r.pages() / r.seconds }
func (r result) processing() float64 { return 1000 * r.processor / r.pages() }

// busy returns the share of all processors' time that the crawler and the web used.
func (r result) busy() float64 {
	return (r.processor + r.web) / r.seconds / float64(runtime.NumCPU())
}

// run measures all contenders, round by round, so that other load on the machine affects all, and prints the table.
func (c *course) run() error {
	dir, err := os.MkdirTemp(c.dir, "bench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	seeds := filepath.Join(dir, "seeds")
	if err := os.WriteFile(seeds, []byte(strings.Join(c.web.seeds(), "\n")+"\n"), 0o644); err != nil {
		return err
	}
	contenders, err := c.contenders()
	if err != nil {
		return err
	}
	rounds := make([][]result, len(contenders))
	for round := range c.rounds {
		for i, contender := range contenders {
			if round > 0 && contender.once || c.only != "" && !slices.Contains(strings.Split(c.only, ","), contender.name) {
				continue
			}
			r, err := c.measure(contender, dir, seeds)
			if err != nil {
				fmt.Fprintf(os.Stderr, "%s: left out: %v\n", contender.name, err)
				continue
			}
			fmt.Fprintf(os.Stderr, "%s: %.0f pages in %.2f s, of %.2f s; %.2f s of processor time\n", r.name, r.pages(), r.crawling, r.seconds, r.processor)
			rounds[i] = append(rounds[i], r)
		}
	}
	c.print(slices.DeleteFunc(rounds, func(r []result) bool { return len(r) == 0 }))
	return nil
}

// measure runs a contender in an empty directory and removes the directory. The contender is a child of time(1): a
// child of this process would be charged with this process's peak memory.
func (c *course) measure(with contender, dir, seeds string) (result, error) {
	out := filepath.Join(dir, "out")
	if err := os.Mkdir(out, 0o755); err != nil {
		return result{}, err
	}
	defer os.RemoveAll(out)
	args := []string{"timeout", "-s", "INT", strconv.Itoa(c.limit)}
	for _, arg := range with.args {
		if arg == "{seeds}" {
			args = append(args, c.web.seeds()...)
			continue
		}
		args = append(args, strings.NewReplacer("{dir}", out, "{file}", seeds, "{seed}", c.web.seeds()[0]).Replace(arg))
	}
	syscall.Sync() // so that no contender pays for the writes of the one before
	c.web.take()
	r := result{name: with.name}
	began, served := time.Now(), spent()
	said, err := r.time(filepath.Join(dir, "used"), args)
	if err != nil {
		return r, err
	}
	if r.tally = c.web.take(); r.pages() == 0 {
		return r, fmt.Errorf("no page fetched: exit %s: %s", r.exit, said)
	}
	r.web = (spent() - served).Seconds()
	r.crawling = r.last.Sub(began).Seconds()
	err = filepath.WalkDir(out, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			r.stored += float64(info.Size()) / (1 << 20)
		}
		return err
	})
	return r, err
}

// spent returns the processor time of this process, which serves the web.
func spent() time.Duration {
	var used syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &used) // fails only for a wrong argument
	return time.Duration(used.Utime.Nano() + used.Stime.Nano())
}

// time runs a command under time(1), which writes what it used to a file, and returns the command's standard error.
func (r *result) time(used string, args []string) (said string, err error) {
	cmd := exec.Command("/usr/bin/time", append([]string{"-q", "-o", used, "-f", "%e %U %S %M %x"}, args...)...)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	err = cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		return "", err
	}
	text, err := os.ReadFile(used)
	if err != nil {
		return stderr.String(), err
	}
	var user, system, kilobytes float64
	if _, err := fmt.Sscan(string(text), &r.seconds, &user, &system, &kilobytes, &r.exit); err != nil {
		return stderr.String(), fmt.Errorf("time said %q: %w", text, err)
	}
	if r.exit == "124" {
		r.exit = "stopped"
	}
	r.processor, r.peak = user+system, kilobytes/1024
	return stderr.String(), nil
}

// print writes the table: each contender's least, median and greatest pace, compared with the first contender. The
// other columns are from the round with the median pace.
func (c *course) print(contenders [][]result) {
	fmt.Printf("%d pages, %d hosts, %d of %d links to other hosts; requests to an idle server by wrk: %s/s\n\n", len(c.web.body), len(c.web.hosts), c.web.foreign, pageLinks, c.ceiling())
	fmt.Println("| crawler | rounds | pages/s: least | median | greatest | Freshet's pace | pages/s until the last request | CPU s per 1,000 pages | beside Freshet | processors busy | peak memory, MiB | stored, MiB | pages once | more often | not | other requests | connections | exit |")
	fmt.Println("| --- |" + strings.Repeat(" ---: |", 17))
	var first result
	for i, rounds := range contenders {
		slices.SortFunc(rounds, func(a, b result) int { return cmp.Compare(a.pace(), b.pace()) })
		r := rounds[len(rounds)/2]
		if i == 0 {
			first = r
		}
		fmt.Printf("| %s | %d | %.0f | %.0f | %.0f | %.2f × | %.0f | %.2f | %.2f × | %.0f %% | %.0f | %.0f | %d | %d | %d | %d | %d | %s |\n",
			r.name, len(rounds), rounds[0].pace(), r.pace(), rounds[len(rounds)-1].pace(), first.pace()/r.pace(), r.pages()/r.crawling,
			r.processing(), r.processing()/first.processing(), 100*r.busy(), r.peak, r.stored, r.once, r.more, len(c.web.body)-r.once-r.more, r.other, r.opened, r.exit)
	}
}

// ceiling returns how many requests a second wrk gets answered, or "?" if it is not installed.
func (c *course) ceiling() string {
	out, err := exec.Command("wrk", "-t2", "-c64", "-d5s", c.web.seeds()[0]).Output()
	pace := regexp.MustCompile(`Requests/sec:\s+([0-9.]+)`).FindSubmatch(out)
	if err != nil || pace == nil {
		return "?"
	}
	n, _ := strconv.ParseFloat(string(pace[1]), 64)
	return strconv.FormatFloat(n, 'f', 0, 64)
}
