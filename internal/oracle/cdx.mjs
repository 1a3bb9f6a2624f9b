// cdx: the CDXJ index that warcio makes of WARC files, in the order of the records.
//
//   node cdx.mjs FILE...
import { createReadStream } from 'node:fs';
import { basename } from 'node:path';
import { CDXIndexer } from 'warcio';

const files = process.argv.slice(2).map((file) => ({ filename: basename(file), reader: createReadStream(file) }));
await new CDXIndexer({ format: 'cdxj' }).writeAll(files, process.stdout);
