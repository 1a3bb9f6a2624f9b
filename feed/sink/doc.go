// Package sink hands what pages say on to other systems: a search engine, a message broker, files.
//
// A Sink follows the change log behind its own mark, which is on disk. It reads what the page of each entry says, and
// puts it into its Target until the target has it. So each change arrives at least once, also if either side is killed.
// A Document has a position that only grows for its page: whoever has a larger one has seen it already. One sink that
// is slow or away holds up nobody else.
//
//	change log ─► Reader (text, consent, difference) ─► Sink (batches, again and again) ─► Target
//
// The Targets are OpenSearch and Elasticsearch (NewSearchEngine), NATS JetStream (NewStream) and files of lines of JSON
// (NewFolder).
package sink
