package plan

import (
	"strings"
	"testing"
	"testing/fstest"
)

// TestSlotsFitMemory holds that a fleet with more slots than the machine has memory for is refused: else the command
// dies of it.
func TestSlotsFitMemory(t *testing.T) {
	machine := fstest.MapFS{"proc/meminfo": {Data: []byte("MemTotal:       2097152 kB\n")}}
	for fleet, fits := range map[string]bool{"10x1000000,2x500000": true, "1x2000000000": false, "2000000000x2000000000": false} {
		var f fleetFlag
		if err := f.Set(fleet); err != nil {
			t.Fatal(err)
		}
		err := f.fits(machine)
		if fits != (err == nil) || err != nil && !strings.Contains(err.Error(), "want at most 21474836 slots") {
			t.Errorf("%s: %v", fleet, err)
		}
		if err := f.fits(fstest.MapFS{}); err != nil {
			t.Errorf("%s, where the memory is not known: %v", fleet, err)
		}
	}
}
