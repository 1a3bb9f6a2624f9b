// Package sink sends the texts of pages to other systems: a search engine, a message broker, files.
//
// A Sink follows the change log behind its own mark, which is on disk. For each entry it reads the page's document,
// and puts it into its Target until the target accepts it. So each change arrives at least once, also if either side
// is killed. The position of a Document only grows for its page: a target with a larger one ignores it. A sink that
// is slow or unreachable delays nobody else.
//
//	change log ─► Reader (text, consent, difference) ─► Sink (batches, again and again) ─► Target
//
// The Targets are OpenSearch and Elasticsearch (NewSearchEngine), NATS JetStream (NewStream) and files of lines of JSON
// (NewFolder).
package sink
