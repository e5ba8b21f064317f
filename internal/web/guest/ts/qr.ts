// QR codes (ISO/IEC 18004) of texts in alphanumeric mode, with error correction of level L. Drawn on the phone, as it may have no internet.
const characters = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ $%*+-./:";
const quiet = 4; // modules around the code

/** Codewords of error correction in a block, and the number of blocks, of each version from 1. */
const corrections = [7, 10, 15, 20, 26, 18, 20, 24, 30, 18, 20, 24, 26, 30, 22, 24, 28, 30, 28, 28, 28, 28, 30, 30, 26, 28, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30, 30];
const blocks = [1, 1, 1, 1, 1, 2, 2, 2, 2, 4, 4, 4, 4, 4, 6, 6, 6, 6, 7, 8, 8, 9, 9, 10, 12, 12, 12, 13, 14, 15, 16, 17, 18, 19, 19, 20, 21, 22, 24, 25];

type Bits = (0 | 1)[];

const bitsOf = (n: number, length: number): Bits => Array.from({ length }, (_, i) => ((n >>> (length - 1 - i)) & 1) as 0 | 1);

/** How many codewords a version has, with those of error correction. */
function codewordsOf(version: number): number {
  let modules = (16 * version + 128) * version + 64;
  if (version > 1) {
    const n = Math.floor(version / 7) + 2; // alignment patterns in a row
    modules -= (25 * n - 10) * n - 55;
  }
  if (version > 6) modules -= 36; // the version itself
  return Math.floor(modules / 8);
}

/** The smallest version that a text fits into, and its codewords without error correction. */
function fit(text: string): [number, number[]] {
  for (let version = 1; version <= 40; version++) {
    const room = codewordsOf(version) - corrections[version - 1] * blocks[version - 1];
    const bits: Bits = [...bitsOf(2, 4), ...bitsOf(text.length, version < 10 ? 9 : version < 27 ? 11 : 13)];
    for (let i = 0; i < text.length; i += 2) {
      const [a, b] = [characters.indexOf(text[i]), characters.indexOf(text[i + 1] ?? "0")];
      if (a < 0 || b < 0) throw new RangeError("the text has a character that a QR code in alphanumeric mode does not have");
      bits.push(...(i + 1 < text.length ? bitsOf(45 * a + b, 11) : bitsOf(a, 6)));
    }
    if (bits.length > 8 * room) continue;
    bits.push(...bitsOf(0, Math.min(4, 8 * room - bits.length)));
    while (bits.length % 8) bits.push(0);
    const words = Array.from({ length: bits.length / 8 }, (_, i) => parseInt(bits.slice(8 * i, 8 * i + 8).join(""), 2));
    for (let pad = 0xec; words.length < room; pad ^= 0xec ^ 0x11) words.push(pad);
    return [version, words];
  }
  throw new RangeError("the text is too long for a QR code");
}

/** Multiplies in the field GF(256) of QR codes. */
function multiply(a: number, b: number): number {
  let product = 0;
  for (let i = 7; i >= 0; i--) product = (product << 1) ^ ((product >>> 7) * 0x11d) ^ (((b >>> i) & 1) * a);
  return product;
}

/** The Reed-Solomon remainder of a block. */
function correctionOf(block: number[], length: number): number[] {
  const divisor: number[] = Array(length).fill(0);
  divisor[length - 1] = 1;
  for (let i = 0, root = 1; i < length; i++, root = multiply(root, 2))
    for (let j = 0; j < length; j++) divisor[j] = multiply(divisor[j], root) ^ (divisor[j + 1] ?? 0);
  const rest: number[] = Array(length).fill(0);
  for (const word of block) {
    const factor = word ^ rest.shift()!;
    rest.push(0);
    divisor.forEach((d, i) => (rest[i] ^= multiply(d, factor)));
  }
  return rest;
}

/** The codewords of a code in their order: those of all blocks in turn. */
function interleave(version: number, words: number[]): number[] {
  const [count, length] = [blocks[version - 1], corrections[version - 1]];
  const short = Math.floor(words.length / count);
  const long = words.length % count; // so many blocks at the end have one more
  const parts = Array.from({ length: count }, (_, i) => {
    const from = i * short + Math.max(0, i - (count - long));
    return words.slice(from, from + short + (i < count - long ? 0 : 1));
  });
  const turns = (of: number[][], n: number) => Array.from({ length: n }, (_, i) => of.filter((p) => i < p.length).map((p) => p[i])).flat();
  return [...turns(parts, short + 1), ...turns(parts.map((p) => correctionOf(p, length)), length)];
}

const masks: ((x: number, y: number) => number)[] = [
  (x, y) => (x + y) % 2, (_, y) => y % 2, (x) => x % 3, (x, y) => (x + y) % 3, (x, y) => (Math.floor(x / 3) + Math.floor(y / 2)) % 2,
  (x, y) => ((x * y) % 2) + ((x * y) % 3), (x, y) => (((x * y) % 2) + ((x * y) % 3)) % 2, (x, y) => (((x + y) % 2) + ((x * y) % 3)) % 2,
];

/** Adds the remainder of a number by a polynomial to it, as format and version have one. */
function withRemainder(n: number, polynomial: number, length: number): number {
  let rest = n;
  for (let i = 0; i < length; i++) rest = (rest << 1) ^ ((rest >>> (length - 1)) * polynomial);
  return (n << length) | rest;
}

/** The modules that are the same in each code of a version and mask. Others are undefined. */
function patterns(version: number, mask: number): Bits[] {
  const size = 4 * version + 17;
  const rows: Bits[] = Array.from({ length: size }, () => Array(size));
  const set = (x: number, y: number, dark: boolean | number) => {
    if (x >= 0 && y >= 0 && x < size && y < size) rows[y][x] = dark ? 1 : 0;
  };
  /** Sets squares around a module: those at the given distances are light. */
  const squares = (x: number, y: number, reach: number, light: number[]) => {
    for (let dy = -reach; dy <= reach; dy++)
      for (let dx = -reach; dx <= reach; dx++) set(x + dx, y + dy, !light.includes(Math.max(Math.abs(dx), Math.abs(dy))));
  };
  for (let i = 0; i < size; i++) (set(6, i, i % 2 === 0), set(i, 6, i % 2 === 0));
  const count = version > 1 ? Math.floor(version / 7) + 2 : 0;
  const step = Math.floor((8 * version + 3 * count + 5) / (4 * count - 4)) * 2;
  const places = Array.from({ length: count }, (_, i) => (i ? size - 7 - step * (count - 1 - i) : 6));
  for (const y of places) for (const x of places) if ((x > 8 || (y > 8 && y < size - 9)) && (y > 8 || x < size - 9)) squares(x, y, 2, [1]);
  for (const [x, y] of [[3, 3], [size - 4, 3], [3, size - 4]]) squares(x, y, 4, [2, 4]);
  const format = withRemainder(8 | mask, 0x537, 10) ^ 0x5412;
  for (let i = 0; i < 15; i++) {
    const dark = (format >>> i) & 1;
    i < 8 ? set(8, i < 6 ? i : i + 1, dark) : set(i === 8 ? 7 : 14 - i, 8, dark);
    i < 8 ? set(size - 1 - i, 8, dark) : set(8, size - 15 + i, dark);
  }
  set(8, size - 8, true);
  const bits = withRemainder(version, 0x1f25, 12);
  for (let i = 0; i < 18 && version > 6; i++) {
    const [a, b] = [size - 11 + (i % 3), Math.floor(i / 3)];
    set(a, b, (bits >>> i) & 1);
    set(b, a, (bits >>> i) & 1);
  }
  return rows;
}

/** Fills the other modules with codewords, in columns of two from the right, upwards and downwards in turn. */
function fill(rows: Bits[], words: number[], mask: (x: number, y: number) => number): void {
  const size = rows.length;
  let at = 0;
  for (let right = size - 1, up = true; right > 0; right -= right === 8 ? 3 : 2, up = !up)
    for (let i = 0; i < size; i++)
      for (const x of [right, right - 1]) {
        const y = up ? size - 1 - i : i;
        if (rows[y][x] !== undefined) continue;
        const bit = ((words[at >>> 3] ?? 0) >>> (7 - (at & 7))) & 1;
        rows[y][x] = (bit ^ (mask(x, y) === 0 ? 1 : 0)) as 0 | 1;
        at++;
      }
}

/** How hard a code is to read. */
function penalty(rows: Bits[]): number {
  const lines = [...rows, ...rows.map((_, x) => rows.map((row) => row[x]))].map((line) => line.join(""));
  let sum = 0;
  for (const line of lines) {
    for (const run of line.match(/0{5,}|1{5,}/g) ?? []) sum += run.length - 2;
    sum += 40 * (line.match(/(?=00001011101|10111010000)/g) ?? []).length;
  }
  for (let y = 1; y < rows.length; y++)
    for (let x = 1; x < rows.length; x++) {
      const dark = rows[y][x] + rows[y - 1][x] + rows[y][x - 1] + rows[y - 1][x - 1];
      if (dark === 0 || dark === 4) sum += 3;
    }
  const share = rows.flat().filter(Boolean).length / rows.length ** 2;
  return sum + 10 * Math.floor(Math.abs(share - 0.5) * 20);
}

/** Returns the rows of modules of a text's QR code: 1 is dark. */
export function encode(text: string): Bits[] {
  const [version, data] = fit(text);
  const words = interleave(version, data);
  const drawn = masks.map((mask, i) => {
    const rows = patterns(version, i);
    fill(rows, words, mask);
    return { rows, penalty: penalty(rows) };
  });
  return drawn.reduce((a, b) => (b.penalty < a.penalty ? b : a)).rows;
}

/** Draws the QR code of a text into an SVG image: its path has the class qr-dots. */
export function draw(text: string, into: SVGElement): void {
  const rows = encode(text);
  const size = rows.length + 2 * quiet;
  into.setAttribute("viewBox", `0 0 ${size} ${size}`);
  const dots = rows.flatMap((row, y) => row.map((dark, x) => (dark ? `M${x + quiet} ${y + quiet}h1v1h-1z` : "")));
  into.querySelector(".qr-dots")!.setAttribute("d", dots.join(""));
}
