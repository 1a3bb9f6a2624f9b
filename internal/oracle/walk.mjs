// walk: which pages of a static site can be reached, found out from the files alone.
//
//   node walk.mjs --root DIR --origin http://host.test --start /index.html [--others FILE]
//
// It walks breadth first from the start page over the files below DIR, answering for itself as the
// plain file server of internal/sites would (its rules are in that package's documentation, and
// again in answer() below), and prints a line for every URL that answers 200, sorted by bytes:
//
//   URL <tab> SHA-256 of the file's bytes
//
// --others gets a line for every URL of the origin that answers otherwise: status <tab> URL.
// Shapes that a crawler's guards against traps might refuse are counted on standard error.
//
// It shares no line with the crawler: parse5 builds the whole tree as a browser without scripts
// does, and Node's own URL resolves the links. Memory: the set of URLs, and one page at a time.
import { createHash } from 'node:crypto';
import { readFileSync, realpathSync, statSync, writeFileSync } from 'node:fs';
import { posix, join, sep } from 'node:path';
import { parseArgs } from 'node:util';
import { links, sheet, decode } from './links.mjs';

const { values: flag } = parseArgs({
  options: {
    root: { type: 'string' },
    origin: { type: 'string' },
    start: { type: 'string', default: '/index.html' },
    others: { type: 'string' },
  },
});
if (!flag.root || !flag.origin) {
  console.error('usage: walk.mjs --root DIR --origin http://host.test [--start /index.html] [--others FILE]');
  process.exit(2);
}
const root = realpathSync(flag.root);
const origin = new URL(flag.origin).origin;

// answer tells what the server says to a URL: {status, file} or {status, location}.
function answer(url) {
  const target = url.pathname;
  if (/%(?![0-9a-f]{2})/i.test(target)) return { status: 400 };
  const name = unescape(target);
  if (name === null || name.includes('\0') || name === '/robots.txt') return { status: 404 };
  const path = posix.normalize(name.endsWith('/') ? name + 'index.html' : name);
  let file, stat;
  try {
    file = realpathSync(join(root, path));
    stat = statSync(file);
  } catch {
    return { status: 404 };
  }
  if (file !== root && !file.startsWith(root + sep)) return { status: 404 }; // a link that leads out
  if (stat.isDirectory()) return { status: 301, location: target + '/' };
  return stat.isFile() ? { status: 200, file, path } : { status: 404 };
}

// unescape percent-decodes once, or returns null where the bytes are not UTF-8, which names no file.
function unescape(path) {
  try {
    return decodeURIComponent(path);
  } catch {
    return null;
  }
}

const isHTML = (path) => /\.html?$/i.test(path);
const isSheet = (path) => /\.css$/i.test(path);

// resolve returns the URL without its fragment if it is one of this origin, else null.
function resolve(reference, base) {
  let url;
  try {
    url = new URL(reference, base);
  } catch {
    return null;
  }
  url.hash = '';
  url.username = url.password = '';
  return url.origin === origin ? url.href.replace(/#$/, '') : null;
}

const seen = new Set([new URL(flag.start, origin).href]);
const pages = [];
const others = [];
for (const href of seen) { // a Set yields what is added while it is walked, in order
  const url = new URL(href);
  const { status, file, path, location } = answer(url);
  if (status !== 200) {
    others.push(`${status}\t${href}`);
    const next = location && resolve(location, href);
    if (next) seen.add(next);
    continue;
  }
  const bytes = readFileSync(file);
  pages.push(`${href}\t${createHash('sha256').update(bytes).digest('hex')}`);
  if (isHTML(path)) {
    for (const next of links(decode(bytes), href, resolve)) seen.add(next);
  } else if (isSheet(path)) {
    for (const next of sheet(decode(bytes)).map((reference) => resolve(reference, href)).filter(Boolean)) seen.add(next);
  }
}

// URLs are ASCII, so that the order of JavaScript's strings is that of bytes.
const lines = (list) => list.sort().map((line) => line + '\n').join('');
if (flag.others) writeFileSync(flag.others, lines(others));
process.stdout.write(lines(pages));

const repeats = (href) => {
  const segments = new URL(href).pathname.split('/').filter(Boolean);
  return segments.length - new Set(segments).size >= 3; // 3 too many: perhaps one of them four times
};
const long = [...seen].filter((href) => href.length > 2048);
const repeating = [...seen].filter(repeats);
console.error(`${flag.origin}: ${pages.length} pages, ${others.length} other answers; ` +
  `${long.length} URLs longer than 2048 bytes, ${repeating.length} that repeat segments ${repeating.slice(0, 3).join(' ')}`);
