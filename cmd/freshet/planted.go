//go:build planted

package main

import (
	"os"

	"freshet/node"
	"freshet/weburl"
)

// plant has the page whose URL is in FRESHET_KILLED_BY kill the process without warning whenever it is processed. It is
// in builds for tests only.
func plant(o *node.Options) {
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
