package node

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/prometheus/procfs"
)

// BenchmarkSoak crawls an endless web without delays, in a process of its own, for the time in FRESHET_SOAK (default a
// minute). Sixty times in that time it prints the resources of the process. It reports the difference between the last
// third and the second. Memory, file handles, goroutines, the time of a fetch and the bytes on disk a page should all
// be flat.
func BenchmarkSoak(b *testing.B) {
	span := time.Minute
	if text := os.Getenv("FRESHET_SOAK"); text != "" {
		var err error
		if span, err = time.ParseDuration(text); err != nil {
			b.Fatal(err)
		}
	}
	for b.Loop() {
		web := newPoliteWeb(b, 100, 0, 0, 0, endless)
		job := crawlJob{Dir: b.TempDir(), Resolve: web.resolve, For: span, PerSite: endless, Report: span / 60}
		for _, u := range web.seeds {
			job.Seeds = append(job.Seeds, u.String())
		}
		child, lines := job.start(b)
		var all []soakSample
		fmt.Printf("%8s %10s %8s %8s %8s %8s %10s %10s %12s\n", "pages", "pages/s", "RSS MiB", "heap", "handles", "routines", "fetch ms", "disk MiB", "bytes/page")
		for {
			r, more := report(b, lines)
			if !more {
				break
			}
			s := sampleOf(b, child.Process.Pid, job.Dir, r)
			if len(all) > 0 {
				s.since(all[len(all)-1], job.Report)
			}
			if s.resident == 0 {
				continue // it has ended
			}
			fmt.Println(s)
			all = append(all, s)
		}
		if err := child.Wait(); err != nil {
			b.Fatal(err)
		}
		third := len(all) / 3
		before, after := mean(all[third:2*third]), mean(all[len(all)-third:])
		b.ReportMetric(float64(all[len(all)-1].pages)/span.Seconds(), "pages/s")
		for _, m := range []struct {
			name          string
			before, after float64
		}{
			{"memory", before.resident, after.resident}, {"handles", before.handles, after.handles},
			{"goroutines", before.goroutines, after.goroutines}, {"fetch-time", before.fetch, after.fetch},
			{"disk-a-page", before.perPage, after.perPage},
		} {
			b.ReportMetric(100*(m.after/m.before-1), "%-more-"+m.name)
		}
	}
}

const endless = 1_000_000_000 // more than the soak can reach

// A soakSample has the resources of the crawler's process at one time.
type soakSample struct {
	pages                                     int64
	rate, resident, heap, handles, goroutines float64 // resident and heap in MiB
	fetch                                     float64 // mean time of a fetch, ms, by Little's law
	disk, perPage                             float64 // MiB in all, bytes a page since the sample before
}

// sampleOf reads the process's figures from /proc and the data directory. Its resident size is 0 if it has ended.
func sampleOf(b *testing.B, pid int, dir string, r crawlReport) soakSample {
	s := soakSample{pages: r.Status.Pages, goroutines: float64(r.Goroutines), heap: float64(r.HeapBytes) / (1 << 20)}
	if proc, err := procfs.NewProc(pid); err == nil {
		status, _ := proc.NewStatus()
		handles, _ := proc.FileDescriptorsLen()
		s.resident, s.handles = float64(status.VmRSS)/(1<<20), float64(handles)
	}
	err := filepath.WalkDir(dir, func(path string, entry os.DirEntry, err error) error {
		if info, fault := os.Lstat(path); err == nil && fault == nil && !entry.IsDir() { // files come and go
			s.disk += float64(info.Size()) / (1 << 20)
		}
		return nil
	})
	if err != nil {
		b.Fatal(err)
	}
	s.fetch = float64(r.Status.Connections)
	return s
}

// since completes s with the changes since the sample before.
func (s *soakSample) since(before soakSample, span time.Duration) {
	pages := float64(s.pages - before.pages)
	s.rate = pages / span.Seconds()
	if pages > 0 {
		s.fetch *= 1000 / s.rate
		s.perPage = (s.disk - before.disk) * (1 << 20) / pages
	}
}

func (s soakSample) String() string {
	return fmt.Sprintf("%8d %10.0f %8.0f %8.0f %8.0f %8.0f %10.1f %10.0f %12.0f",
		s.pages, s.rate, s.resident, s.heap, s.handles, s.goroutines, s.fetch, s.disk, s.perPage)
}

// mean returns the mean of what should be flat.
func mean(all []soakSample) (m soakSample) {
	n := float64(len(all))
	for _, s := range all {
		m.resident += s.resident / n
		m.handles += s.handles / n
		m.goroutines += s.goroutines / n
		m.fetch += s.fetch / n
		m.perPage += s.perPage / n
	}
	return m
}
