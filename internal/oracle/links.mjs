// links: every link of an HTML document that a crawler has to follow.
import { parse } from 'parse5';

// Which attributes of which element hold one URL each.
const single = {
  a: ['href'], area: ['href'], link: ['href'],
  frame: ['src'], iframe: ['src'], embed: ['src'], object: ['data'],
  img: ['src'], input: ['src'], source: ['src'], audio: ['src'], video: ['src', 'poster'],
  track: ['src'], script: ['src'],
  body: ['background'], table: ['background'], thead: ['background'], tbody: ['background'], tfoot: ['background'],
  tr: ['background'], td: ['background'], th: ['background'],
};
const singleInSVG = { a: true, image: true, use: true, script: true }; // href, else xlink:href
const sets = { img: 'srcset', source: 'srcset', link: 'imagesrcset' };
const hints = new Set(['dns-prefetch', 'preconnect']); // a link to a host and not to a page
const html = 'http://www.w3.org/1999/xhtml';
const svg = 'http://www.w3.org/2000/svg';

// links returns the links of html in document order, made absolute by resolve(reference, base), which
// returns null for what is not wanted. The first base element with an href counts for all of them, but
// none in a template.
export function links(text, address, resolve) {
  const found = [];
  let base = null;
  // An explicit stack, because documents nest deeper than calls may.
  const stack = [[parse(text, { scriptingEnabled: false }), false]];
  while (stack.length) {
    const [node, inTemplate] = stack.pop();
    if (node.tagName) {
      const isBase = node.tagName === 'base' && node.namespaceURI === html && !inTemplate;
      if (isBase && base === null) base = attribute(node, 'href');
      found.push(...references(node));
    }
    if (node.content) stack.push([node.content, true]); // of a template, which has no other children
    const children = node.childNodes ?? [];
    for (let i = children.length - 1; i >= 0; i--) stack.push([children[i], inTemplate]);
  }
  const against = absolute(base, address);
  return found.map((reference) => resolve(reference, against)).filter(Boolean);
}

// absolute returns the document's base URL.
function absolute(base, address) {
  try {
    return new URL(base ?? '', address).href;
  } catch {
    return address;
  }
}

function attribute(node, name) {
  return node.attrs.find((a) => a.name === name && !a.prefix)?.value ?? null;
}

// references returns what an element refers to, as written.
function references(node) {
  const { tagName: name } = node;
  if (node.namespaceURI === svg) {
    if (!singleInSVG[name]) return [];
    const ref = attribute(node, 'href') ?? node.attrs.find((a) => a.name === 'href')?.value ?? null;
    return ref === null || (ref === '' && name !== 'a') ? [] : [ref];
  }
  const refs = [];
  const rels = (name === 'link' && attribute(node, 'rel') || '').toLowerCase().split(/\s+/);
  if (!rels.some((rel) => hints.has(rel))) {
    for (const key of single[name] ?? []) refs.push(attribute(node, key));
  }
  if (sets[name]) refs.push(...srcset(attribute(node, sets[name]) ?? ''));
  if (name === 'meta' && attribute(node, 'http-equiv')?.toLowerCase() === 'refresh') {
    refs.push(refresh(attribute(node, 'content') ?? ''));
  }
  return refs.filter((ref) => ref !== null);
}

// refresh returns the URL of "5; url='x'", or null if there is none. A refresh without a URL reloads
// the page itself and leads nowhere new.
export function refresh(content) {
  const match = /^\s*[\d.]*\s*[;,\s]\s*(?:url\s*=\s*)?(["']?)(.*)$/is.exec(content);
  if (!match || !match[2]) return null;
  const [, quote, rest] = match;
  return quote ? rest.split(quote)[0] : rest;
}

// srcset returns the URLs of a list of images: each runs to white space, or to a comma at its end;
// descriptors follow up to the next comma outside of parentheses.
export function srcset(value) {
  const urls = [];
  let rest = value;
  for (;;) {
    rest = rest.replace(/^[\s,]+/, '');
    const url = /^\S+/.exec(rest)?.[0];
    if (!url) return urls;
    rest = rest.slice(url.length);
    urls.push(url.replace(/,+$/, ''));
    if (!url.endsWith(',')) rest = rest.replace(/^(?:\([^)]*\)|[^,(])*/, '');
  }
}

// sheet returns the references of a style sheet: those of url() and @import, outside of comments.
export function sheet(text) {
  const found = text.replace(/\/\*[\s\S]*?(?:\*\/|$)/g, ' ').matchAll(/(?:@import\s+|url\(\s*)(["'])(.+?)\1|url\(\s*([^"'()\s]+)/gi);
  return Array.from(found, (match) => match[2] ?? match[3]);
}

// decode turns a page into text: by its byte order mark, by the charset that its beginning declares,
// else as UTF-8.
export function decode(bytes) {
  const mark = bytes[0] === 0xfe && bytes[1] === 0xff ? 'utf-16be'
    : bytes[0] === 0xff && bytes[1] === 0xfe ? 'utf-16le' : null;
  const declared = /<(?:meta|\?xml)[^>]+(?:charset|encoding)\s*=\s*["']?\s*([\w:.-]+)/i
    .exec(bytes.subarray(0, 1024).toString('latin1'))?.[1];
  try {
    return new TextDecoder(mark ?? declared ?? 'utf-8').decode(bytes);
  } catch {
    return new TextDecoder('utf-8').decode(bytes);
  }
}
