package memory

import (
	"testing"
	"testing/fstest"
)

func TestDefault(t *testing.T) {
	const meminfo = "MemTotal:       24576000 kB\nMemFree: 1 kB\n"
	tests := []struct {
		name  string
		files map[string]string
		limit int64
		want  int64
	}{
		{"nothing told", nil, 0, 1 << 30},
		{"a large machine", map[string]string{"proc/meminfo": meminfo}, 24576000 << 10, 4 << 30},
		{"a small machine", map[string]string{"proc/meminfo": "MemTotal: 1048576 kB\n"}, 1 << 30, 512 << 20},
		{"a tiny machine", map[string]string{"proc/meminfo": "MemTotal: 262144 kB\n"}, 256 << 20, 224 << 20},
		{"version 2, limit above the group", map[string]string{
			"proc/meminfo": meminfo, "proc/self/cgroup": "0::/a.slice/b\n",
			"sys/fs/cgroup/a.slice/memory.max": "400000000\n", "sys/fs/cgroup/a.slice/b/memory.max": "max\n",
		}, 400_000_000, 256 << 20},
		{"version 2 in a container", map[string]string{
			"proc/meminfo": meminfo, "proc/self/cgroup": "0::/\n", "sys/fs/cgroup/memory.max": "200000000\n",
		}, 200_000_000, 175_000_000},
		{"version 1", map[string]string{
			"proc/meminfo": meminfo, "proc/self/cgroup": "9:name=systemd:/\n4:cpu,memory:/x\n0::/\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes":   "9223372036854771712\n",
			"sys/fs/cgroup/memory/x/memory.limit_in_bytes": "1073741824\n",
		}, 1 << 30, 512 << 20},
		{"version 1, the group out of sight", map[string]string{
			"proc/meminfo": meminfo, "proc/self/cgroup": "4:memory:/docker/7f\n",
			"sys/fs/cgroup/memory/memory.limit_in_bytes": "1073741824\n",
		}, 1 << 30, 512 << 20},
	}
	for _, test := range tests {
		root := fstest.MapFS{}
		for name, text := range test.files {
			root[name] = &fstest.MapFile{Data: []byte(text)}
		}
		if limit, got := Limit(root), defaultOf(root); limit != test.limit || got != test.want {
			t.Errorf("%s: limit %d, default %d; want %d, %d", test.name, limit, got, test.limit, test.want)
		}
	}
}

func TestCheck(t *testing.T) {
	root := fstest.MapFS{
		"proc/self/cgroup": {Data: []byte("0::/\n")}, "sys/fs/cgroup/memory.max": {Data: []byte("200000000\n")},
	}
	if err := checkOf(root, 200_000_000); err != nil {
		t.Error(err)
	}
	const want = "a memory budget of 1024 MiB: the machine or its cgroup has 190 MiB; give at most 166 MiB"
	if err := checkOf(root, 1<<30); err == nil || err.Error() != want {
		t.Errorf("%v: want %s", err, want)
	}
	if err := checkOf(fstest.MapFS{}, 1<<40); err != nil {
		t.Errorf("a machine that does not tell: %v", err)
	}
}
