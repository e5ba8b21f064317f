// An open page follows what changes: the service announces ids, and the page loads its parts again.
import { later, parse, within } from "../../kit/ts/page";
import { now } from "../../kit/ts/time";
import { refresh } from "./parts";

const answerSeconds = 10;
const presentSeconds = 30; // after the last use of the page, a person is taken to be there
const pressSeconds = 5; // a press that ends outside the page may end without an event

export function follow(): void {
  const state = document.querySelector<HTMLElement>("[data-feed]");
  if (!state) return;
  const [on, off] = [state.querySelector<HTMLElement>("[data-on]")!, state.querySelector<HTMLElement>("[data-off]")!];
  let source: EventSource | undefined;
  let loading = false;
  let again = false;
  let outdated = false; // the last fetch failed
  let left = false; // something in use was not refreshed
  let refreshing = false;
  let reopening = 0;
  let reloading = 0;
  const reads = document.querySelector("[data-reads]") !== null; // the page marks what a person sees as read
  let used = 0; // when a person last used the page
  let unseen = false; // the last load was for no person
  let released = Promise.resolve(); // a refresh while a button is pressed would replace the button, and the click would be lost
  let release = () => {};
  const press = () =>
    (released = new Promise((done) => {
      release = done;
      setTimeout(done, pressSeconds * 1000);
    }));
  for (const end of ["pointerup", "pointercancel"]) document.addEventListener(end, () => setTimeout(release), { passive: true });
  document.addEventListener("pointerdown", press, { passive: true });
  const renew = () => (state.dataset.page ? location.assign(state.dataset.page) : location.reload());
  const clock = (at: number) =>
    new Date(at).toLocaleTimeString(document.documentElement.lang, { hour: "2-digit", minute: "2-digit", hourCycle: "h23", timeZone: state.dataset.timeZone });
  const show = () => {
    const live = source?.readyState === EventSource.OPEN && !outdated;
    if (!live && state.hidden) return; // it has never been live
    if (!live && off.hidden) off.querySelector("[data-at]")!.textContent = clock(now());
    state.hidden = false;
    on.hidden = !live;
    off.hidden = live;
  };
  const load = async () => {
    if (loading) return void (again = true);
    loading = true;
    clearTimeout(reloading);
    try {
      const seen = reads && !document.hidden && Date.now() - used < presentSeconds * 1000;
      unseen = reads && !seen;
      const headers: Record<string, string> = { "Latchkey-Script": "1" };
      if (!seen) headers["Latchkey-Automatic"] = "1";
      const answer = await fetch(state.dataset.page ?? location.href, { headers, credentials: "same-origin", signal: within(answerSeconds) });
      const next = answer.headers.get("Latchkey-Location");
      if (next) return location.assign(next);
      const page = parse(await answer.text());
      const sending = document.querySelector("form[data-sent]");
      const { property } = page.body.dataset;
      if (property && property !== document.body.dataset.property && !sending) return renew(); // chosen in another tab
      // Another person has removed what the page shows. The page of the person who removed it is already on the way.
      if (answer.status === 404 && !sending) return renew();
      if (!answer.ok) throw new Error(answer.statusText);
      await released;
      refreshing = true;
      left = refresh(page);
      const { of } = page.querySelector<HTMLElement>("[data-feed]")?.dataset ?? {};
      if (of) state.dataset.of = of; // such as the locks of another room
      outdated = false;
    } catch {
      outdated = true;
      if (!document.hidden) reloading = later(load);
    } finally {
      show();
      loading = refreshing = false;
      if (again) {
        again = false;
        void load();
      }
    }
  };
  const open = () => {
    const stream = new EventSource(state.dataset.feed!);
    source = stream;
    stream.onopen = show;
    stream.onerror = () => {
      if (source !== stream) return;
      show();
      if (stream.readyState !== EventSource.CLOSED) return; // the browser tries again
      reopening = later(open); // an HTTP error ended it
      void load(); // which leads to the sign-in if the session has ended
    };
    stream.addEventListener("changed", (e) => {
      const { ids, all } = JSON.parse((e as MessageEvent).data) as { ids: string[]; all: boolean };
      if (all || !state.dataset.of || state.dataset.of.split(" ").some((id) => ids.includes(id))) void load();
    });
    stream.addEventListener("refused", () => {
      stream.close();
      location.reload(); // the page says why
    });
  };
  // What was in use is refreshed when the person has left the field or closed the menu. A refresh also moves the focus and opens menus.
  const catchUp = () => refreshing || setTimeout(() => left && source && void load());
  document.addEventListener("focusout", catchUp);
  document.addEventListener("toggle", (e) => (e.target as Element).matches("details[open]") || catchUp(), true); // toggle does not bubble
  const use = () => {
    used = Date.now();
    if (unseen && source && !loading) void load();
  };
  if (reads) for (const kind of ["pointermove", "pointerdown", "keydown", "focusin"]) document.addEventListener(kind, use, { passive: true });
  document.addEventListener("visibilitychange", () => {
    if (document.hidden) {
      source?.close();
      source = undefined;
      clearTimeout(reopening);
      clearTimeout(reloading);
    } else if (!source) {
      used = Date.now();
      open(); // its first message says that everything may have changed
    }
  });
  if (!document.hidden) open();
}
