package node

import "testing"

// TestDescriptors holds that requests never need more files than a process may have open, and that kept connections
// make way before requests do.
func TestDescriptors(t *testing.T) {
	for _, test := range []struct{ limit, connections, idle, wantConnections, wantIdle int }{
		{1 << 20, 256, 2048, 256, 2048},
		{2048, 256, 2048, 256, 896},
		{1024, 256, 2048, 256, 1},
		{256, 256, 2048, 64, 1},
		{8, 256, 2048, 2, 1},
		{1, 1, 1, 1, 1},
	} {
		connections, idle := withinDescriptors(test.limit, test.connections, test.idle)
		if connections != test.wantConnections || idle != test.wantIdle {
			t.Errorf("%d descriptors for %d connections and %d kept: %d, %d: want %d, %d", test.limit, test.connections, test.idle,
				connections, idle, test.wantConnections, test.wantIdle)
		}
	}
}
