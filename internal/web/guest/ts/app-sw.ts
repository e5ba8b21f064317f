// The service worker of guests' phones: it keeps the page for a phone that does not reach the server, the page that answers a kiosk's QR code,
// their files, and no page of a guest.
export {};
declare const self: any;

const page = "/g/offline";
const greeted = "/g/k";
const files: string[] = self.KEPT ?? [];
const answerSeconds = 10; // a lost internet may answer nothing, not even with an error
const shelf = "latchkey-guest " + files.join(" ");

const away = [502, 503, 504]; // a proxy does not reach the server, or the server has no database

async function fetchPage(request: Request): Promise<Response> {
  const limit = new AbortController();
  const timer = setTimeout(() => limit.abort(), 1000 * answerSeconds);
  try {
    return await fetch(request, { signal: limit.signal, cache: "no-store" });
  } finally {
    clearTimeout(timer);
  }
}

async function keptPage(instead: Response): Promise<Response> {
  return (await caches.match(page)) ?? instead;
}

/** Returns the kept page with a mark: a form was not sent, and to load the page again sends it. */
async function keptPageOfForm(instead: Response): Promise<Response> {
  const kept = await caches.match(page);
  if (!kept) return instead;
  return new Response((await kept.text()).replace('id="offline"', 'id="offline" data-unsent'), { headers: kept.headers });
}

self.addEventListener("install", (e: any) => {
  self.skipWaiting();
  e.waitUntil(caches.open(shelf).then((c) => c.addAll([...files, page, greeted])));
});

self.addEventListener("activate", (e: any) => {
  const former = (k: string) => k.startsWith("latchkey-guest ") && k !== shelf;
  e.waitUntil(caches.keys().then((all) => Promise.all(all.filter(former).map((k) => caches.delete(k)))).then(() => self.clients.claim()));
});

self.addEventListener("fetch", (e: any) => {
  const url = new URL(e.request.url);
  if (url.origin !== location.origin) return;
  if (files.includes(url.pathname)) {
    e.respondWith(caches.match(e.request).then((kept) => kept ?? fetch(e.request)));
  } else if (e.request.mode === "navigate" && url.pathname === greeted) {
    e.respondWith(caches.match(greeted).then((kept) => kept ?? fetch(e.request))); // at once: the answer has 30 seconds
  } else if (e.request.mode === "navigate" && url.pathname.startsWith("/g/")) {
    // A form has no limit of time: the PMS may be asked meanwhile.
    const [answered, kept] = e.request.method === "GET" ? [fetchPage(e.request), keptPage] : [fetch(e.request), keptPageOfForm];
    e.respondWith(answered.then((answer) => (away.includes(answer.status) ? kept(answer) : answer), () => kept(Response.error())));
  }
});
