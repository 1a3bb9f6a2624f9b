//go:build planted

package main

import (
	"os"

	"freshet/crawl"
	"freshet/weburl"
)

// plant has the page whose URL is in FRESHET_KILLED_BY kill the process without warning whenever it is processed. It is
// in builds for tests only.
func plant(o *crawl.Options) {
	o.BeforeProcess = func(u weburl.URL) {
		if u.String() != os.Getenv("FRESHET_KILLED_BY") {
			return
		}
		if p, err := os.FindProcess(os.Getpid()); err == nil {
			_ = p.Kill()
		}
		select {}
	}
}
