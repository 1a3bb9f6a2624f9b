package node

import (
	"strings"
	"testing"
)

// The shares of a budget add up to no more than the budget. A budget that is too small is an error that says what is
// enough.
func TestPlanMemory(t *testing.T) {
	for _, size := range []int64{64, 128, 160, 200, 256, 300, 400, 512, 1024, 4096, 65536} {
		for _, asked := range []int{1, 16, 256, 2000} {
			for _, body := range []int64{64 * kib, mib, 16 * mib, 64 * mib} {
				for _, workers := range []int{1, 2, 16} {
					opt := Options{Connections: asked, MaxBody: body}
					p, err := planMemory(size*mib, opt, workers)
					if err != nil {
						if !strings.Contains(err.Error(), "set --memory to at least") {
							t.Error(err)
						}
						continue
					}
					sum := p.bodies + p.pages
					for _, part := range p.fixed {
						sum += part.bytes
					}
					if sum > size*mib || p.connections < 1 || p.connections > asked || p.bodies < p.body || p.pages < p.page {
						t.Errorf("%d MiB, %d connections, bodies of %d: the shares are %d MiB\n%+v", size, asked, body, sum/mib, p)
					}
				}
			}
		}
	}
	p, err := planMemory(256*mib, Options{Connections: 256, MaxBody: 16 * mib}, 2)
	if err != nil || p.connections != 256 {
		t.Errorf("256 MiB: %d connections, %v", p.connections, err)
	}
	if _, err := planMemory(64*mib, Options{Connections: 256, MaxBody: 16 * mib}, 2); err == nil ||
		err.Error() != "crawl: 64 MiB of memory are too few: set --memory to at least 164 MiB, or --max-body below 16 MiB" {
		t.Error(err)
	}
	if _, err := planMemory(166*mib, Options{Connections: 256, MaxBody: 16 * mib}, 2); err != nil {
		t.Errorf("what a cgroup of 200 MB gives by default: %v", err)
	}
}
