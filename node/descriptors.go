package node

// otherFiles is the number of descriptors that a crawl reserves for everything but its requests: 500 tables of the
// database, its logs, WARC files, the seen set, and clients.
const otherFiles = 640

// Usable returns how many of the connections the limit on open files allows, and that limit.
func Usable(connections int) (usable, files int) {
	files = descriptors()
	usable, _ = withinDescriptors(files, connections, 1)
	return usable, files
}

// withinDescriptors returns how many of the planned connections a process can use under its limit on open files, and
// how many idle ones it may keep open as well. A request may use a second socket to look up a name.
func withinDescriptors(limit, connections, idle int) (int, int) {
	free := limit - min(otherFiles, limit/2)
	connections = max(min(connections, free/2), 1)
	return connections, max(min(idle, free-2*connections), 1)
}
