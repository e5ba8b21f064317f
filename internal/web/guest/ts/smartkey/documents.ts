// The documents that a phone signs and the messages that it exchanges with a bridge: docs/smartkey.md, sections 3, 4, 6, 13 and 14.
import { concat, decode, encode, Tag, type Key, type Value } from "./cbor";

/** The labels of claims. */
const claim = { aud: 3, iat: 6, cnf: 8, nonce: 10, door: -65543, operation: -65544, tokenHash: -65545, purpose: -65546 };
const algorithm = { name: "ECDSA", hash: "SHA-256" };
const order = 0xffffffff00000000ffffffffffffffffbce6faada7179e84f3b9cac2fc632551n;

export const purpose = { enrol: 1, renew: 2 };
export const operation = { unlock: 1, check: 2 };

export interface Greeting {
  bridge: string;
  nonce: Uint8Array;
}

async function sha256(bytes: Uint8Array<ArrayBuffer>): Promise<Uint8Array<ArrayBuffer>> {
  return new Uint8Array(await crypto.subtle.digest("SHA-256", bytes));
}

/** The COSE_Key of a public key. */
async function coseKey(key: CryptoKey): Promise<Map<Key, Value>> {
  const point = new Uint8Array(await crypto.subtle.exportKey("raw", key)); // 4, x, y
  return new Map<Key, Value>([[1, 2], [-1, 1], [-2, point.slice(1, 33)], [-3, point.slice(33)]]);
}

/** Replaces the s half of a signature by its lower form: verifiers refuse the higher one. */
export function lowS(signature: Uint8Array<ArrayBuffer>): Uint8Array<ArrayBuffer> {
  const s = BigInt("0x" + [...signature.subarray(32)].map((b) => b.toString(16).padStart(2, "0")).join(""));
  if (s <= order / 2n) return signature;
  const low = (order - s).toString(16).padStart(64, "0");
  return concat(signature.subarray(0, 32), Uint8Array.from(low.match(/../g)!, (h) => parseInt(h, 16)));
}

async function sign(keys: CryptoKeyPair, type: string, claims: Map<Key, Value>): Promise<Uint8Array<ArrayBuffer>> {
  const kid = (await sha256(encode(await coseKey(keys.publicKey)))).slice(0, 8);
  const header = encode(new Map<Key, Value>([[1, -7], [4, kid], [16, type]]));
  const payload = encode(claims);
  const signed = encode(["Signature1", header, new Uint8Array(), payload]);
  const signature = lowS(new Uint8Array(await crypto.subtle.sign(algorithm, keys.privateKey, signed)));
  return encode(new Tag(18, [header, new Map(), payload, signature]));
}

const seconds = () => Math.floor(Date.now() / 1000);

/** Proves to a property's server that the phone has its key. */
export async function signPossession(keys: CryptoKeyPair, propertyID: string, challenge: Uint8Array, why: number): Promise<Uint8Array<ArrayBuffer>> {
  const key = new Map<Key, Value>([[1, await coseKey(keys.publicKey)]]);
  return sign(keys, "application/smartkey-possession+cwt",
    new Map<Key, Value>([[claim.aud, propertyID], [claim.iat, seconds()], [claim.cnf, key], [claim.nonce, challenge], [claim.purpose, why]]));
}

/** What a phone presents to the bridge that greeted it: its token, and a proof for one door. */
export async function signPresentation(keys: CryptoKeyPair, token: Uint8Array<ArrayBuffer>, greeting: Greeting, door: Uint8Array, what: number): Promise<Uint8Array<ArrayBuffer>> {
  const proof = await sign(keys, "application/smartkey-proof+cwt", new Map<Key, Value>([
    [claim.aud, greeting.bridge], [claim.iat, seconds()], [claim.nonce, greeting.nonce], [claim.door, door], [claim.operation, what],
    [claim.tokenHash, await sha256(token)],
  ]));
  return encode(new Map<Key, Value>([[1, token], [2, proof]]));
}

export function readGreeting(bytes: Uint8Array): Greeting {
  const members = decode(bytes);
  if (!(members instanceof Map)) throw new TypeError("the greeting is not a map");
  const [bridge, nonce] = [members.get(1), members.get(2)];
  if (typeof bridge !== "string" || !(nonce instanceof Uint8Array)) throw new TypeError("the greeting has no bridge or no nonce");
  return { bridge, nonce };
}
