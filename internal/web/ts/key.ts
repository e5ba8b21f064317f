// The tablet's key. It cannot be read out of the browser.
const curve = { name: "ECDSA", namedCurve: "P-256" };

function store(): Promise<IDBDatabase> {
  return new Promise((done, failed) => {
    const open = indexedDB.open("latchkey-kiosk", 1);
    open.onupgradeneeded = () => open.result.createObjectStore("keys");
    open.onsuccess = () => done(open.result);
    open.onerror = () => failed(open.error);
  });
}

async function run<T>(mode: IDBTransactionMode, act: (s: IDBObjectStore) => IDBRequest<T>): Promise<T> {
  const db = await store();
  return new Promise((done, failed) => {
    const t = db.transaction("keys", mode);
    const request = act(t.objectStore("keys"));
    t.oncomplete = () => (db.close(), done(request.result));
    t.onerror = t.onabort = () => (db.close(), failed(t.error));
  });
}

const read = () => run<CryptoKeyPair | undefined>("readonly", (s) => s.get("key"));

function base64(bytes: ArrayBuffer): string {
  return btoa(String.fromCharCode(...new Uint8Array(bytes)));
}

/** Makes a new key and returns its public half. It is read back: some browsers lose keys without an error. */
export async function makeKey(): Promise<string> {
  const pair = (await crypto.subtle.generateKey(curve, false, ["sign", "verify"])) as CryptoKeyPair;
  await run("readwrite", (s) => s.put(pair, "key"));
  const kept = await read();
  if (!kept?.privateKey) throw new Error("the key was not kept");
  return base64(await crypto.subtle.exportKey("spki", pair.publicKey));
}

export async function sign(challenge: string): Promise<string> {
  const pair = await read();
  if (!pair) throw new Error("there is no key");
  return base64(await crypto.subtle.sign({ name: "ECDSA", hash: "SHA-256" }, pair.privateKey, new TextEncoder().encode(challenge)));
}
