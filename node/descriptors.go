package node

// otherFiles is how many descriptors a crawl reserves for everything but its requests: 500 tables of the database,
// its logs, WARC files, the seen set, and clients.
const otherFiles = 640

// Usable returns how many of the wanted connections the limit of open files allows, and that limit.
func Usable(connections int) (usable, files int) {
	files = descriptors()
	usable, _ = withinDescriptors(files, connections, 1)
	return usable, files
}

// withinDescriptors returns how many connections can be used and how many may be kept open beside them, of those
// planned, by a process that may have so many files open. A request may use a second socket to look up a name.
func withinDescriptors(limit, connections, idle int) (int, int) {
	free := limit - min(otherFiles, limit/2)
	connections = max(min(connections, free/2), 1)
	return connections, max(min(idle, free-2*connections), 1)
}
