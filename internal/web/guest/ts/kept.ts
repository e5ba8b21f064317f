// What a phone keeps of a stay for when it has no internet: parts of pages as the guest saw them, sealed with a key that cannot be read out
// of the browser. They end with the stay.
import { ahead, now } from "../../kit/ts/time";
import { vault } from "./vault";

interface Kept {
  sealed: ArrayBuffer;
  iv: Uint8Array<ArrayBuffer>;
}

/** A part of a page. */
export interface Part {
  name: string;
  html: string;
  at: number; // when the page was loaded, by the server's clock
  time?: string; // the same in the property's time zone, as the guest reads it
  until: number; // when the stay ends
  ahead: number; // how far the server's clock was ahead of this phone's then
  version: string; // of what is known about it
  lang?: string; // the language of the page
}

const store = vault("latchkey-kept", "stays");
const algorithm = "AES-GCM";

async function sealingKey(): Promise<CryptoKey> {
  const has = await store.get<CryptoKey>("key");
  if (has) return has;
  const key = await crypto.subtle.generateKey({ name: algorithm, length: 256 }, false, ["encrypt", "decrypt"]);
  await store.put("key", key);
  return key;
}

async function seal(stay: string, parts: Part[]): Promise<void> {
  const iv = crypto.getRandomValues(new Uint8Array(12));
  const plain = new TextEncoder().encode(JSON.stringify(parts));
  const sealed = await crypto.subtle.encrypt({ name: algorithm, iv, additionalData: new TextEncoder().encode(stay) }, await sealingKey(), plain);
  await store.put("stay " + stay, { sealed, iv } satisfies Kept);
}

/** A part has ended when the phone's clock says so both without a correction and with the one of then: the clock may be right by now. */
const hasEnded = (p: Part) => p.until <= Date.now() + Math.min(0, p.ahead ?? 0);

/** Returns the parts of a stay that have not ended, the latest of each name. */
export async function load(stay: string): Promise<Part[]> {
  const kept = await store.get<Kept>("stay " + stay);
  if (!kept) return [];
  const plain = await crypto.subtle.decrypt({ name: algorithm, iv: kept.iv, additionalData: new TextEncoder().encode(stay) }, await sealingKey(), kept.sealed);
  const parts = JSON.parse(new TextDecoder().decode(plain)) as Part[];
  const alive = parts.filter((p) => !hasEnded(p));
  if (alive.length === 0) await forget(stay);
  return alive;
}

/** Forgets a stay. */
export async function forget(stay: string): Promise<void> {
  await store.remove("stay " + stay);
  if ((await store.get<string>("last")) === stay) await store.remove("last");
}

/** What the guest reads of a part: without what needs the server, and without what would be twice on the page that shows it. */
function readable(part: HTMLElement): string {
  if (part instanceof HTMLTemplateElement) return part.innerHTML;
  const copy = part.cloneNode(true) as HTMLElement;
  for (const e of copy.querySelectorAll("h1, form, button, details")) e.remove();
  for (const e of copy.querySelectorAll("*")) for (const name of ["id", "role", "data-live", "data-every"]) if (name !== "role" || e.getAttribute(name) === "status") e.removeAttribute(name);
  return copy.innerHTML;
}

/** Keeps the parts of a page that say so. */
export async function keep(page: Document): Promise<void> {
  const parts = [...page.querySelectorAll<HTMLElement>("[data-keep]")];
  if (parts.length === 0) return;
  const stay = parts[0].dataset.stay!;
  const fresh = parts.map((p): Part => ({ name: p.dataset.keep!, html: readable(p), at: now(), time: p.dataset.time, until: Date.parse(p.dataset.until!), ahead, version: p.dataset.version ?? "", lang: page.documentElement.lang }));
  const former = await load(stay).catch(() => []);
  await seal(stay, [...former.filter((f) => !fresh.some((p) => p.name === f.name)), ...fresh]);
  await store.put("last", stay);
}

/** Returns the stay that this phone showed last. */
export const last = () => store.get<string>("last");
