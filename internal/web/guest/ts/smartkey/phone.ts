// The SmartKey of one stay in this browser: it enrols, renews and opens doors over the server. docs/smartkey.md, sections 13 and 21.
import { vault } from "../vault";
import { within } from "../../../kit/ts/page";
import { ahead, now } from "../../../kit/ts/time";
import { operation, purpose, readGreeting, signPossession, signPresentation, type Greeting } from "./documents";

/** A token and what it opens, as the server answers. Bytes are in base64. */
interface Key {
  token: string;
  expiresAt: string;
  renewAfter: string;
  doors: Door[];
}

export interface Door {
  door: string;
  name: string;
  kind: string;
  bridgeId: string;
}

/** What this browser keeps of a stay's SmartKey. */
interface Held {
  keys: CryptoKeyPair;
  phoneId: string;
  key?: Key;
  stayDoors?: string; // the doors that the page of the stay named when this browser got the key
  ahead?: number; // how far the server's clock was ahead of this phone's when it issued the key
}

/** What became of an opening. moved: the door belongs no longer to the stay. offline: this phone has no internet. away: the server does not answer. unreachable: the door's bridge does not. */
export type Result = "opened" | "refused" | "failed" | "expired" | "unknown" | "offline" | "away" | "unreachable" | "slow" | "ended" | "moved";

/** Why a browser keeps no key. insecure: the page came without TLS. unable: it cannot sign. storage: it stores no keys, as in a private window. */
export type Cause = "insecure" | "unable" | "storage";

/** This browser keeps no key. The stay's PIN works without one. */
export class CannotKeep extends Error {
  constructor(readonly cause: Cause) {
    super(cause);
  }
}

class Refused extends Error {
  constructor(readonly status: number, readonly reason: string) {
    super(reason);
  }
}

const answerSeconds = 15;
const held = vault("latchkey-guest", "smartkeys");
const curve = { name: "ECDSA", namedCurve: "P-256" };

const bytes = (text: string): Uint8Array<ArrayBuffer> => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
const text = (raw: Uint8Array): string => btoa(Array.from(raw, (b) => String.fromCharCode(b)).join(""));

async function call<T>(name: string, request: object): Promise<T> {
  const answer = await fetch(`/v1/guest/smartkey/${name}`, {
    method: "POST", body: JSON.stringify(request), headers: { "Content-Type": "application/json" }, signal: within(answerSeconds),
  });
  const body = await answer.json();
  if (!answer.ok) throw new Refused(answer.status, body.error?.reason ?? "");
  return body;
}

/** Makes a key and checks that the browser kept it: some lose keys without an error. */
async function makeKey(stay: string): Promise<CryptoKeyPair> {
  if (!isSecureContext) throw new CannotKeep("insecure");
  if (!crypto.subtle) throw new CannotKeep("unable");
  try {
    const keys = (await crypto.subtle.generateKey(curve, false, ["sign", "verify"])) as CryptoKeyPair;
    await held.put(stay, { keys, phoneId: "" } satisfies Held);
    const kept = await held.get<Held>(stay);
    if (kept?.keys.privateKey) return kept.keys;
  } catch {
    // DataCloneError in Lockdown Mode and in private windows of some browsers
  }
  throw new CannotKeep("storage");
}

async function enrol(stay: string, link: () => Promise<string>, name: string): Promise<Held> {
  const keys = await makeKey(stay); // before the link: it serves one enrolment
  const secret = await link();
  const asked = await call<{ propertyId: string; challenge: string }>("enrolment", { link: secret });
  const possession = await signPossession(keys, asked.propertyId, bytes(asked.challenge), purpose.enrol);
  const { phoneId, key } = await call<{ phoneId: string; key?: Key }>("phones", { link: secret, possession: text(possession), name });
  const has = { keys, phoneId, key, ahead };
  await held.put(stay, has);
  void navigator.storage?.persist?.().catch(() => {}); // else some browsers delete the key when they need room
  return has;
}

async function renew(stay: string, has: Held): Promise<Held> {
  const asked = await call<{ propertyId: string; challenge: string }>("challenge", { phoneId: has.phoneId });
  const possession = await signPossession(has.keys, asked.propertyId, bytes(asked.challenge), purpose.renew);
  const { key } = await call<{ key: Key }>("renewal", { phoneId: has.phoneId, possession: text(possession) });
  const fresh = { ...has, key, ahead: document.body.dataset.now ? ahead : has.ahead };
  await held.put(stay, fresh);
  return fresh;
}

const isDue = (key?: Key) => !key || now() >= Date.parse(key.renewAfter);

/** Returns the doors that this browser opens. It enrols if it must, and renews the token if it is time, or if the doors of the stay changed, as
 *  after a move to another room. stayDoors are the doors that the page of the stay names. */
export async function ready(stay: string, link: () => Promise<string>, name: string, stayDoors: string): Promise<Door[]> {
  let has = await held.get<Held>(stay).catch(() => undefined);
  if (!has?.phoneId) has = await enrol(stay, link, name);
  else if (isDue(has.key) || has.stayDoors !== stayDoors) {
    try {
      has = await renew(stay, has);
    } catch (error) {
      if (error instanceof Refused && error.reason === "noLock") return []; // no door of the stay opens from a phone any more
      if (!(error instanceof Refused) || !ended(error)) return has.key?.doors ?? [];
      has = await enrol(stay, link, name); // the server forgot this phone, or revoked it: a session that lives may enrol again
    }
  }
  if (has.key && has.stayDoors !== stayDoors) await held.put(stay, (has = { ...has, stayDoors }));
  return has.key?.doors ?? [];
}

const ended = (r: Refused) => r.status === 404 || r.reason === "smartkeyRefused";

/** An opening as the guest reads it. */
export interface Opening {
  result: Result;
  reason: string;
  doors?: Door[]; // what this browser opens now, if the key was renewed
}

async function present(has: Held, door: string): Promise<Opening> {
  const token = has.key!.token;
  const { greeting } = await call<{ greeting: string }>("greeting", { token, door });
  const presentation = await signPresentation(has.keys, bytes(token), readGreeting(bytes(greeting)), bytes(door), operation.unlock);
  try {
    return await call("presentation", { presentation: text(presentation) });
  } catch (error) {
    if (error instanceof Refused) throw error;
    return { result: "unknown", reason: "" }; // it may have arrived
  }
}

/** Refusals after which a newer token may open. */
const helpedByRenewal = ["revoked", "expired", "superseded", "unknownIssuer"];

/** Opens a door. */
export async function open(stay: string, door: string): Promise<Opening> {
  try {
    let has = await held.get<Held>(stay);
    if (!has?.key) return { result: "ended", reason: "" };
    const first = await present(has, door);
    if (!helpedByRenewal.includes(first.reason)) return first;
    has = await renew(stay, has);
    const doors = has.key!.doors;
    if (!doors.some((d) => d.door === door)) return { result: "moved", reason: "", doors };
    return { ...(await present(has, door)), doors };
  } catch (error) {
    return { result: resultOf(error), reason: error instanceof Refused ? error.reason : "" };
  }
}

function resultOf(error: unknown): Result {
  if (!(error instanceof Refused)) return navigator.onLine ? "away" : "offline";
  if (error.status === 503) return "unreachable";
  if (error.status === 504) return "expired";
  if (error.status === 429) return "slow";
  if (error.status >= 500) return "away"; // a fault of the server says nothing about the key
  return "ended";
}

/** A door that a SmartKey of this browser opens. */
export interface KeptDoor extends Door {
  stay: string;
  expired: boolean;
}

/** A key has expired when the phone's clock says so both without a correction and with the one of then: the clock may be right by now. */
const hasExpired = (has: Held) => Date.parse(has.key!.expiresAt) <= Date.now() + Math.min(0, has.ahead ?? 0);

/** Returns the doors of one bridge that this browser has a key for, of all its stays. */
export async function doorsOf(bridge: string): Promise<KeptDoor[]> {
  const all = await Promise.all((await held.keys()).map(async (stay) => ({ stay, has: await held.get<Held>(stay) })));
  return all.flatMap(({ stay, has }) => (has?.key?.doors ?? []).filter((d) => d.bridgeId === bridge).map((d) => ({ ...d, stay, expired: hasExpired(has!) })));
}

/** Renews the key of a stay. refused: the server gives no other. unreachable: it did not answer in time. */
export async function renewed(stay: string, seconds: number): Promise<"renewed" | "refused" | "unreachable"> {
  const late = new Promise<never>((_, failed) => setTimeout(() => failed(new Error("the renewal takes too long")), 1000 * seconds));
  try {
    await Promise.race([renew(stay, (await held.get<Held>(stay))!), late]);
    return "renewed";
  } catch (error) {
    return error instanceof Refused && (ended(error) || error.status === 403) ? "refused" : "unreachable";
  }
}

/** Answers a greeting for a door that the guest chose. */
export async function answer(door: KeptDoor, greeting: Greeting): Promise<Uint8Array<ArrayBuffer>> {
  const has = (await held.get<Held>(door.stay))!;
  return signPresentation(has.keys, bytes(has.key!.token), greeting, bytes(door.door), operation.unlock);
}

/** Forgets the key of a stay. */
export const forget = (stay: string) => held.remove(stay).catch(() => {});
