// The tablet's service worker: it keeps the pages for a tablet whose internet is cut, and no other page.
export {};
declare const self: any;

const pages = ["/k/closed", "/k/cut"];
const files: string[] = self.KEPT ?? [];
const answerSeconds = 10; // a lost internet may answer nothing, not even with an error
const shelf = "latchkey-kiosk " + files.join(" ");

async function keepPages(): Promise<void> {
  const cache = await caches.open(shelf);
  await Promise.all(pages.map(async (page) => {
    const answer = await fetch(page, { credentials: "same-origin" });
    if (answer.ok && !answer.redirected) await cache.put(page, answer);
  }));
}

/** Fetches a page, or fails if its answer does not begin in time. A request that stays open would hold the next one of its address up. */
async function fetchPage(request: Request): Promise<Response> {
  if (request.method !== "GET") return fetch(request);
  const limit = new AbortController();
  const timer = setTimeout(() => limit.abort(), 1000 * answerSeconds);
  try {
    return await fetch(request, { signal: limit.signal, cache: "no-store" });
  } finally {
    clearTimeout(timer);
  }
}

self.addEventListener("install", (e: any) => {
  self.skipWaiting();
  e.waitUntil(caches.open(shelf).then((c) => c.addAll(files)).then(keepPages));
});

self.addEventListener("activate", (e: any) => {
  const former = (k: string) => k.startsWith("latchkey-kiosk ") && k !== shelf;
  e.waitUntil(caches.keys().then((all) => Promise.all(all.filter(former).map((k) => caches.delete(k)))).then(() => self.clients.claim()));
});

self.addEventListener("fetch", (e: any) => {
  const url = new URL(e.request.url);
  if (url.origin !== location.origin) return;
  if (url.pathname.startsWith("/static/")) {
    e.respondWith(caches.match(e.request).then((kept) => kept ?? fetch(e.request)));
    return;
  }
  if (e.request.mode !== "navigate") return;
  if (pages.includes(url.pathname)) {
    e.respondWith(caches.match(url.pathname).then((kept) => kept ?? fetch(e.request)));
    return;
  }
  e.respondWith(fetchPage(e.request)
    .then((answer) => {
      if (url.pathname === "/k/") e.waitUntil(keepPages().catch(() => {}));
      return answer;
    })
    .catch(() => caches.match(url.pathname === "/k/" ? "/k/closed" : "/k/cut").then((kept) => kept ?? Response.error())));
});
