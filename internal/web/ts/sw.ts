// The tablet's service worker: it keeps the pages for a tablet whose internet is cut, and no other page.
export {};
declare const self: any;

const pages = ["/k/closed", "/k/cut"];
const files: string[] = self.KEPT ?? [];
const shelf = "latchkey-kiosk " + files.join(" ");

async function keepPages(): Promise<void> {
  const cache = await caches.open(shelf);
  await Promise.all(pages.map(async (page) => {
    const answer = await fetch(page, { credentials: "same-origin" });
    if (answer.ok && !answer.redirected) await cache.put(page, answer);
  }));
}

self.addEventListener("install", (e: any) => {
  self.skipWaiting();
  e.waitUntil(caches.open(shelf).then((c) => c.addAll(files)).then(keepPages));
});

self.addEventListener("activate", (e: any) => {
  e.waitUntil(caches.keys().then((all) => Promise.all(all.filter((k) => k !== shelf).map((k) => caches.delete(k)))).then(() => self.clients.claim()));
});

self.addEventListener("fetch", (e: any) => {
  const url = new URL(e.request.url);
  if (url.origin !== location.origin) return;
  if (url.pathname.startsWith("/static/")) {
    e.respondWith(caches.match(e.request).then((kept) => kept ?? fetch(e.request)));
    return;
  }
  if (e.request.mode !== "navigate") return;
  const start = url.pathname === "/k/" || url.pathname === "/k/closed";
  e.respondWith(fetch(e.request)
    .then((answer) => {
      if (url.pathname === "/k/") e.waitUntil(keepPages().catch(() => {}));
      return answer;
    })
    .catch(() => caches.match(start ? "/k/closed" : "/k/cut").then((kept) => kept ?? Response.error())));
});
