// CBOR in the core deterministic encoding of RFC 8949, section 4.2.1: as much of it as the documents of docs/smartkey.md need.
export type Key = number | string;
export type Value = number | string | Uint8Array | Value[] | Map<Key, Value> | Tag;

export class Tag {
  constructor(readonly number: number, readonly value: Value) {}
}

export function concat(...parts: Uint8Array[]): Uint8Array<ArrayBuffer> {
  const out = new Uint8Array(parts.reduce((n, p) => n + p.length, 0));
  let at = 0;
  for (const p of parts) {
    out.set(p, at);
    at += p.length;
  }
  return out;
}

function head(major: number, n: number): Uint8Array {
  const type = major << 5;
  if (n < 24) return Uint8Array.of(type | n);
  if (n < 2 ** 8) return Uint8Array.of(type | 24, n);
  const wide = n < 2 ** 16 ? 2 : n < 2 ** 32 ? 4 : 8;
  const view = new DataView(new ArrayBuffer(1 + wide));
  view.setUint8(0, type | (wide === 2 ? 25 : wide === 4 ? 26 : 27));
  if (wide === 2) view.setUint16(1, n);
  else if (wide === 4) view.setUint32(1, n);
  else view.setBigUint64(1, BigInt(n));
  return new Uint8Array(view.buffer);
}

function compare(a: Uint8Array, b: Uint8Array): number {
  for (let i = 0; i < a.length && i < b.length; i++) if (a[i] !== b[i]) return a[i] - b[i];
  return a.length - b.length;
}

export function encode(v: Value): Uint8Array<ArrayBuffer> {
  if (typeof v === "number") {
    if (!Number.isSafeInteger(v)) throw new RangeError(`${v} is not an integer that fits`);
    return concat(v < 0 ? head(1, -1 - v) : head(0, v));
  }
  if (typeof v === "string") {
    const text = new TextEncoder().encode(v);
    return concat(head(3, text.length), text);
  }
  if (v instanceof Uint8Array) return concat(head(2, v.length), v);
  if (v instanceof Tag) return concat(head(6, v.number), encode(v.value));
  if (Array.isArray(v)) return concat(head(4, v.length), ...v.map(encode));
  const members = [...v].map(([key, value]) => [encode(key), encode(value)]).sort((a, b) => compare(a[0], b[0]));
  return concat(head(5, v.size), ...members.flat());
}

/** Reads one document. The server and the bridge make what a phone reads, so this accepts only what they make. */
export function decode(bytes: Uint8Array): Value {
  let at = 0;
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  const take = (n: number): number => {
    if (at + n > bytes.length) throw new RangeError("the document is cut off");
    at += n;
    return at - n;
  };
  const argument = (low: number): number => {
    if (low < 24) return low;
    if (low === 24) return view.getUint8(take(1));
    if (low === 25) return view.getUint16(take(2));
    if (low === 26) return view.getUint32(take(4));
    if (low === 27) {
      const n = Number(view.getBigUint64(take(8)));
      if (!Number.isSafeInteger(n)) throw new RangeError("the integer is too large");
      return n;
    }
    throw new RangeError("the encoding is not deterministic");
  };
  const read = (depth: number): Value => {
    if (depth > 8) throw new RangeError("the document is nested too deeply");
    const first = view.getUint8(take(1));
    const n = argument(first & 31);
    switch (first >> 5) {
      case 0: return n;
      case 1: return -1 - n;
      case 2: { const from = take(n); return bytes.slice(from, from + n); }
      case 3: { const from = take(n); return new TextDecoder("utf-8", { fatal: true }).decode(bytes.subarray(from, from + n)); }
      case 4: return Array.from({ length: Math.min(n, bytes.length) }, () => read(depth + 1));
      case 5: {
        const out = new Map<Key, Value>();
        for (let i = 0; i < n; i++) out.set(read(depth + 1) as Key, read(depth + 1));
        return out;
      }
      case 6: return new Tag(n, read(depth + 1));
    }
    throw new RangeError("the document has a value of a kind that no message has");
  };
  const value = read(0);
  if (at !== bytes.length) throw new RangeError("something follows the document");
  return value;
}
