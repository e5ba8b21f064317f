// The tablet's key. It cannot be read out of the browser.
import { vault } from "./vault";

const curve = { name: "ECDSA", namedCurve: "P-256" };
const held = vault("latchkey-kiosk", "keys");
const read = () => held.get<CryptoKeyPair>("key");

function base64(bytes: ArrayBuffer): string {
  return btoa(String.fromCharCode(...new Uint8Array(bytes)));
}

/** Makes a new key and returns its public half. It is read back: some browsers lose keys without an error. */
export async function makeKey(): Promise<string> {
  const pair = (await crypto.subtle.generateKey(curve, false, ["sign", "verify"])) as CryptoKeyPair;
  await held.put("key", pair);
  const kept = await read();
  if (!kept?.privateKey) throw new Error("the key was not kept");
  return base64(await crypto.subtle.exportKey("spki", pair.publicKey));
}

export async function sign(challenge: string): Promise<string> {
  const pair = await read();
  if (!pair) throw new Error("there is no key");
  return base64(await crypto.subtle.sign({ name: "ECDSA", hash: "SHA-256" }, pair.privateKey, new TextEncoder().encode(challenge)));
}
