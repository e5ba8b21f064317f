// The page for a phone that does not reach the server, and what pages keep for it.
import { forget, keep, last, load, type Part } from "./kept";
import { forget as forgetKey } from "./smartkey/phone";
import { parse, within, workerURL } from "../../kit/ts/page";

const stayOf = (path: string) => path.match(/^\/g\/stays\/([^/]+)/)?.[1];

function show(part: Part, into: HTMLElement): void {
  const box = into.querySelector<HTMLElement>(`[data-kept="${part.name}"]`);
  if (!box) return;
  box.querySelector("[data-part]")!.replaceChildren(...parse(part.html).body.childNodes);
  putTime(part, box);
  box.hidden = false;
}

function putTime(part: Part, into: HTMLElement): void {
  const at = into.querySelector<HTMLTimeElement>("[data-at]")!;
  at.dateTime = new Date(part.at).toISOString();
  at.textContent = part.time ?? at.dateTime;
}

/** Says on the page of the stay what this phone kept, and since when. */
async function showSaved(stay: string): Promise<void> {
  const box = document.getElementById("kept");
  if (!box) return;
  const parts = await load(stay);
  for (const line of box.querySelectorAll<HTMLElement>("[data-kept]")) {
    const part = parts.find((p) => p.name === line.dataset.kept);
    if (part) putTime(part, line);
    else line.hidden = true;
  }
  if (parts.length > 0) delete box.dataset.pending;
}

/** Shows what this phone kept, on the page for a phone that does not reach the server. */
async function showKept(into: HTMLElement): Promise<void> {
  // A browser knows when it has no network. With one, the internet, a proxy or the server may be what does not answer.
  const cut = into.querySelector<HTMLTemplateElement>("template[data-cut]")!.content.textContent!;
  if (!navigator.onLine) document.title = into.querySelector("h1")!.textContent = cut;
  const stay = stayOf(location.pathname) ?? (await last());
  const parts = stay ? await load(stay).catch(() => []) : [];
  for (const p of parts) show(p, into);
  into.querySelector<HTMLElement>("[data-nothing]")!.hidden = parts.length > 0;
  into.querySelector<HTMLElement>("[data-again]")!.addEventListener("click", () => location.reload());
  const unsent = into.dataset.unsent !== undefined;
  into.querySelector<HTMLElement>("[data-form]")!.hidden = !unsent;
  if (!unsent) addEventListener("online", () => location.reload());
}

/** Loads the page of the codes to keep its part, if what is known about them changed, or the language. Each load is recorded as a reading of the code. */
async function keepCode(stay: string, url: string, version: string): Promise<void> {
  if ((await load(stay)).some((p) => p.name === "code" && p.version === version && p.lang === document.documentElement.lang)) return;
  const answer = await fetch(url, { signal: within(10) });
  if (answer.ok && !answer.redirected) await keep(parse(await answer.text()));
}

const keptPages = ["/g/offline", "/g/k"]; // as in app-sw.ts

/** Loads the kept pages again, if they are in another language. */
async function keepLanguage(): Promise<void> {
  for (const shelf of (await caches.keys()).filter((k) => k.startsWith("latchkey-guest "))) {
    const cache = await caches.open(shelf);
    for (const page of keptPages) {
      const kept = await cache.match(page);
      if (kept && parse(await kept.text()).documentElement.lang !== document.documentElement.lang) await cache.add(new Request(page, { cache: "reload" }));
    }
  }
}

/** Keeps what a guest needs without internet. */
export async function offline(): Promise<void> {
  const page = document.getElementById("offline");
  if (page) return showKept(page);
  const stay = stayOf(location.pathname);
  if (stay && document.body.dataset.gone !== undefined) return void (await Promise.all([forget(stay), forgetKey(stay)]));
  await keep(document).catch(() => {}); // the page for a phone without internet helps also without what it would show
  const more = document.querySelector<HTMLElement>("[data-keep-also]");
  if (stay && more) await keepCode(stay, more.dataset.keepAlso!, more.dataset.version!).catch(() => {});
  if (!navigator.serviceWorker) return;
  await navigator.serviceWorker.register(workerURL("/g/sw.js"), { scope: "/g/" });
  if (stay) await showSaved(stay);
  if ("caches" in window) await keepLanguage();
}
