package main

import "syscall"

// volatile names the file system of a folder if it may lose files or locks. Otherwise it returns "".
func volatile(dir string) string {
	var stat syscall.Statfs_t
	if syscall.Statfs(dir, &stat) != nil {
		return ""
	}
	switch uint32(stat.Type) {
	case 0x01021994:
		return "tmpfs, which a restart of the machine empties"
	case 0x6969, 0xff534d42, 0xfe534d42:
		return "a network file system, which may not keep locks and syncs"
	}
	return ""
}

// clockSynchronised reports whether a time service sets the machine's clock. known is false if the system does not
// tell.
func clockSynchronised() (synchronised, known bool) {
	const unsynchronised = 0x40
	var t syscall.Timex
	if _, err := syscall.Adjtimex(&t); err != nil {
		return false, false
	}
	return t.Status&unsynchronised == 0, true
}
