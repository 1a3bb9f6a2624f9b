// warcread: reads WARC files with warcio, an independent reader, to their last byte.
//
//   node warcread.mjs FILE...
//
// It prints a JSON object a record: file, offset, length (of the compressed record), type, id, date,
// target, status, refers_to, refers_to_target, refers_to_date, profile, payload_digest, truncated and,
// of responses, body_bytes and body_sha256: of the body with its transfer coding and gzip or deflate
// undone.
//
// warcio itself is lenient: it takes a broken gzip stream for plain bytes and a short record for its
// end. So the program looks at what warcio has read: a file that is not gzip to its end, a record
// shorter than its Content-Length, one without identifier, date or known type, bytes after the last
// record, and a file without records end it with exit 1.
import { createHash } from 'node:crypto';
import { createReadStream, statSync } from 'node:fs';
import { basename } from 'node:path';
import { WARCParser } from 'warcio';

const types = new Set(['warcinfo', 'request', 'response', 'metadata', 'revisit', 'resource', 'conversion', 'continuation']);

// warcio prints what it wonders at, and goes on. Here that is a failure.
console.warn = console.log = (...args) => { throw new Error(`warcio: ${args.join(' ')}`); };

process.exitCode = 0;
for (const file of process.argv.slice(2)) {
  try {
    await read(file);
  } catch (err) {
    process.exitCode = 1;
    console.error(`${file}: ${err.message ?? err}`);
  }
}

// read prints the records of one file.
async function read(file) {
  const parser = new WARCParser(createReadStream(file));
  let end = 0;
  for await (const record of parser) {
    const { offset } = parser;
    const fail = (what) => { throw new Error(`record at ${offset}: ${what}`); };
    const header = (name) => record.warcHeader(name) ?? undefined;

    if (offset !== end) fail(`begins ${offset - end} bytes after the end of the one before`);
    if (!types.has(record.warcType)) fail(`type ${record.warcType}`);
    for (const name of ['WARC-Record-ID', 'WARC-Date', 'Content-Length', 'Content-Type']) {
      if (!header(name)) fail(`no ${name}`);
    }
    const target = record.warcTargetURI ?? undefined;
    if (!target && !['warcinfo', 'metadata'].includes(record.warcType)) fail('no WARC-Target-URI');

    await record.readFully(false);
    if (record.reader.limit > 0) fail(`${record.reader.limit} bytes short of its Content-Length`);
    const length = parser.recordLength;
    if (file.includes('.gz') && !parser._reader.compressed) fail('not gzip');
    end = offset + length;

    const line = {
      file: basename(file), offset, length,
      type: record.warcType,
      id: header('WARC-Record-ID'),
      date: record.warcDate,
      target,
      status: record.warcType === 'request' ? undefined : record.httpHeaders?.statusCode,
      refers_to: header('WARC-Refers-To'),
      refers_to_target: header('WARC-Refers-To-Target-URI'),
      refers_to_date: header('WARC-Refers-To-Date'),
      profile: header('WARC-Profile'),
      payload_digest: header('WARC-Payload-Digest'),
      truncated: header('WARC-Truncated'),
    };
    if (record.warcType === 'response') {
      const body = await record.readFully(true);
      line.body_bytes = body.length;
      line.body_sha256 = createHash('sha256').update(body).digest('hex');
    }
    process.stdout.write(JSON.stringify(line) + '\n');
  }
  const { size } = statSync(file);
  if (end === 0) throw new Error('no records');
  if (end !== size) throw new Error(`${size - end} bytes after the last record, which ends at ${end}`);
}
