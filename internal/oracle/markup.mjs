// markup: which links pieces of markup have, by the HTML standard's own rules.
//
//   node markup.mjs FILE
//
// FILE is a JSON array of {about, markup}, a line each. Every one gets the links that
// parse5's tree of its markup has at http://site.test/dir/page.html, sorted: http and https alone,
// without credentials and fragments, and without the page itself.
import { readFileSync, writeFileSync } from 'node:fs';
import { links } from './links.mjs';

const page = 'http://site.test/dir/page.html';

function resolve(reference, base) {
  let url;
  try {
    url = new URL(reference, base);
  } catch {
    return null;
  }
  url.hash = url.username = url.password = '';
  return /^https?:$/.test(url.protocol) && url.href !== page ? url.href : null;
}

const [file] = process.argv.slice(2);
if (!file) {
  console.error('usage: markup.mjs FILE');
  process.exit(2);
}
const cases = JSON.parse(readFileSync(file, 'utf8')).map(({ about, markup }) => JSON.stringify({
  about,
  markup,
  links: [...new Set(links(markup, page, resolve))].sort(),
}));
writeFileSync(file, `[\n${cases.join(',\n')}\n]\n`);
